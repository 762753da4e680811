# SPDX-License-Identifier: Apache-2.0
"""What the service tells of itself beside the API: its log of searches, and unmet demand.

Nothing here may fail a request of the API: own errors are logged, counted and swallowed.
"""
