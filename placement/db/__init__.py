# SPDX-License-Identifier: Apache-2.0
"""Access to the database: tables, transactions, and one function for each statement."""
