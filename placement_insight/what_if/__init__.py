# SPDX-License-Identifier: Apache-2.0
"""Questions about scenarios: the cloud as it would be."""
