# SPDX-License-Identifier: Apache-2.0
"""The uuids of bodies and queries in lower case.

Specification: conventions, "Spelling of uuids and names".
"""

from typing import Any

import pytest

from placement import errors
from placement.http.validation import Validator
from placement.schemas import aggregate, allocation, common, resource_provider

LOWER = 'aaaaaaaa-0000-4000-8000-000000000001'
UPPER = LOWER.upper()
LIST = {'type': 'array', 'items': common.UUID}
KEYED = common.keyed_by(common.UUID_KEY_PATTERN, {'type': 'integer'})


@pytest.mark.parametrize(
    ('schema', 'sent', 'expected'),
    [
        (common.UUID, UPPER, LOWER),
        (common.UUID_OR_NULL, UPPER, LOWER),
        (common.UUID_OR_NULL, None, None),
        (common.UUID_OR_NAME, UPPER, LOWER),
        (common.UUID_OR_NAME, 'HOST', 'HOST'),
        (common.UUID, UPPER.replace('-', ''), UPPER.replace('-', '')),
        (LIST, [UPPER, LOWER], [LOWER, LOWER]),
        (KEYED, {UPPER: 1}, {LOWER: 1}),
        (resource_provider.CREATE, {'name': UPPER}, {'name': UPPER}),
        (aggregate.SET, [UPPER, LOWER], [UPPER, LOWER]),
    ],
)
def test_uuids_of_providers_and_consumers_are_lowered(
    schema: common.Schema, sent: Any, expected: Any
) -> None:
    assert Validator(schema).lowered(sent) == expected


@pytest.mark.parametrize('name', ['', '?', 'A'])
def test_parts_that_no_schema_checks_are_left_alone(name: str) -> None:
    mappings = allocation.SET_WITH_MAPPINGS['properties']['mappings']

    for value in (1, None, {UPPER: UPPER}, [1, UPPER]):
        part = Validator(mappings).lowered({name: value})[name]
        assert part == ([1, LOWER] if name == 'A' and isinstance(value, list) else value)


@pytest.mark.parametrize(
    ('schema', 'sent'),
    [(KEYED, {UPPER: 1, LOWER: 1}), (LIST | {'uniqueItems': True}, [UPPER, LOWER])],
)
def test_two_spellings_of_one_uuid_are_refused_where_it_may_be_there_once(
    schema: common.Schema, sent: Any
) -> None:
    with pytest.raises(errors.InvalidBody, match=f"'{UPPER}' and '{LOWER}' are the same uuid"):
        Validator(schema).lowered(sent)
