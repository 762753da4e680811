# SPDX-License-Identifier: Apache-2.0
"""The databases in memory that the tests of the change feed use."""

from placement.tests.unit.feed.conftest import engine, never_prune_unasked, statements

__all__ = ['engine', 'never_prune_unasked', 'statements']
