# SPDX-License-Identifier: Apache-2.0
"""The types of connections and rows in the signatures of statements."""

from typing import Any

import sqlalchemy as sa

Connection = sa.Connection

# A row of any columns that a statement selects.
Row = sa.Row[*tuple[Any, ...]]
