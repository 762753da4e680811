# SPDX-License-Identifier: Apache-2.0
"""Changes of the cloud since a token."""
