# SPDX-License-Identifier: Apache-2.0
"""Questions about the cloud as it would be."""
