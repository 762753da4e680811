# SPDX-License-Identifier: Apache-2.0
"""Bodies of questions as schemas read them."""

from typing import Any

import pytest

from placement.http.validation import Validator
from placement.tests.unit.http.test_spelling import LOWER, UPPER
from placement_insight.what_if import schemas


@pytest.mark.parametrize(
    ('sent', 'expected'),
    [([UPPER], [LOWER]), ({'member_of': UPPER}, {'member_of': UPPER})],
)
def test_uuids_of_providers_are_lowered_and_those_of_aggregates_are_not(
    sent: Any, expected: Any
) -> None:
    assert Validator(schemas.WHERE).lowered(sent) == expected
