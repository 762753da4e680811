# SPDX-License-Identifier: Apache-2.0
"""Engines, transactions and what can go wrong in them."""
