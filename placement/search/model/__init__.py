# SPDX-License-Identifier: Apache-2.0
"""What a search works on: the cloud as it is at one moment, and a request."""
