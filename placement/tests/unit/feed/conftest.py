# SPDX-License-Identifier: Apache-2.0
"""The databases in memory that the tests of `db` use."""

from placement.tests.unit.db.conftest import database, engine, rows, statements

__all__ = ['database', 'engine', 'rows', 'statements']
