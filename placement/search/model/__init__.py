# SPDX-License-Identifier: Apache-2.0
"""The values of a search: the cloud at one moment, and a request."""
