# SPDX-License-Identifier: Apache-2.0
"""Ids of callers in the form that a column accepts."""

from placement.db.schema.own_tables import EXTERNAL_ID_LENGTH


def storable(identifier: str | None) -> str | None:
    """Return an id with non-ASCII characters escaped, truncated to the length of the column."""
    if identifier is None or (len(identifier) <= EXTERNAL_ID_LENGTH and identifier.isascii()):
        return identifier
    return identifier.encode('ascii', 'backslashreplace').decode()[:EXTERNAL_ID_LENGTH]
