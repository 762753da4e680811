# SPDX-License-Identifier: Apache-2.0
"""Engines, connection pools, transactions, and the classification of database errors."""
