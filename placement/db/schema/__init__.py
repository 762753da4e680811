# SPDX-License-Identifier: Apache-2.0
"""The tables, and the revisions that lead to them."""
