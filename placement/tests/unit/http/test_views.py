# SPDX-License-Identifier: Apache-2.0
"""Objects and rows as JSON, in the newest shape."""

import datetime
from types import SimpleNamespace as Row

import pytest

from placement.http import views

EARLY = datetime.datetime(2024, 1, 1)
LATE = datetime.datetime(2025, 1, 1)


@pytest.mark.parametrize(
    ('created', 'updated', 'modified'),
    [(EARLY, LATE, LATE), (EARLY, None, EARLY), (None, None, None)],
)
def test_modified_at_is_the_creation_of_an_unchanged_record(
    created: datetime.datetime | None,
    updated: datetime.datetime | None,
    modified: datetime.datetime | None,
) -> None:
    assert views.modified_at(Row(created_at=created, updated_at=updated)) == modified


def test_latest_of_no_times_is_none() -> None:
    assert views.latest([EARLY, None, LATE, EARLY]) == LATE
    assert views.latest([None]) is None
    assert views.latest([]) is None
