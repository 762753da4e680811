# SPDX-License-Identifier: Apache-2.0
"""How a request is laid over the cloud: who can serve what, and how that combines."""
