# SPDX-License-Identifier: Apache-2.0
"""One door to the database: tables, transactions, and statements named for what they answer."""
