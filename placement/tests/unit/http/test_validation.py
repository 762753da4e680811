# SPDX-License-Identifier: Apache-2.0
"""Accepted values and worded errors of schemas (specification: http, "Validation messages")."""

import functools
import time
from collections.abc import Callable
from typing import Any

import pytest

from placement.http import validation
from placement.http.validation import MAX_QUOTED_DEPTH, Validator
from placement.schemas import common
from placement.tests.functional.fixtures.work import steps_of


@pytest.mark.parametrize(
    'uuid',
    [
        'b7a09e9a-5a8c-4e1d-9c0b-5f6f1d4ad9a1',
        'B7A09E9A-5A8C-4E1D-9C0B-5F6F1D4AD9A1',
        'b7a09e9a5a8c4e1d9c0b5f6f1d4ad9a1',
        '{b7a09e9a-5a8c-4e1d-9c0b-5f6f1d4ad9a1}',
        'urn:uuid:b7a09e9a-5a8c-4e1d-9c0b-5f6f1d4ad9a1',
    ],
)
def test_body_accepts_every_spelling_of_a_uuid(uuid: str) -> None:
    assert Validator(common.UUID).find_error(uuid) is None


@pytest.mark.parametrize(
    'uuid', ['', 'foo', 'b7a09e9a-5a8c-4e1d-9c0b-5f6f1d4ad9a', 'x' * 32, 'b' * 33]
)
def test_error_quotes_a_malformed_uuid_in_the_words_of_the_library(uuid: str) -> None:
    error = Validator(common.UUID).find_error(uuid)

    assert error is not None
    assert f"{uuid!r} is not a 'uuid'" in error
    assert "Failed validating 'format' in schema" in error


def test_query_accepts_a_uuid_with_dashes_only() -> None:
    uuid = 'b7a09e9a-5a8c-4e1d-9c0b-5f6f1d4ad9a1'
    validator = Validator(common.UUID, is_query=True)

    assert validator.find_error(uuid) is None
    assert validator.find_error(uuid.upper()) is None
    for other in (uuid.replace('-', ''), f'urn:uuid:{uuid}', f'{{{uuid}}}', ''):
        assert f"{other!r} is not a 'uuid'" in str(validator.find_error(other))


NAMES = common.keyed_by(common.RESOURCE_CLASS_PATTERN, {'type': 'integer'})


@pytest.mark.parametrize(
    ('schema', 'accepted', 'refused', 'words'),
    [
        (common.CUSTOM_NAME, 'CUSTOM_A', 'CUSTOM_A\n', r"'CUSTOM_A\n' does not match '^CUSTOM_"),
        (NAMES, {'VCPU': 1}, {'VCPU\n': 1}, r"'VCPU\n' does not match any of the regexes"),
        (NAMES, {'VCPU': 1}, {'VCPU\n': 1, 'A': 1}, r"'VCPU\n' does not match any of the regexes"),
        (NAMES, {'VCPU': 1}, {'VCPU\n': 1, 'b': 1}, "'b' does not match any of the regexes"),
    ],
)
def test_name_that_ends_in_a_newline_is_refused(
    schema: common.Schema, accepted: object, refused: object, words: str
) -> None:
    """Check that `$` is the end, as in ECMA-262; in Python it also matches before a newline."""
    assert Validator(schema).find_error(accepted) is None
    assert words in str(Validator(schema).find_error(refused))


UNIQUE = {'type': 'array', 'uniqueItems': True}


@pytest.mark.parametrize(
    'items', [[], ['a', 'b'], [1, '1', True, None], [[1], [2]], [{'a': 1}, {'a': 2}], [0, False]]
)
def test_different_items_are_unique(items: list[Any]) -> None:
    assert Validator(UNIQUE).find_error(items) is None


@pytest.mark.parametrize(
    'items',
    [['a', 'b', 'a'], [1, 1.0], [None, 1, None], [[1], [1]], [{'a': 1, 'b': 2}, {'b': 2, 'a': 1}]],
)
def test_equal_items_are_not_unique(items: list[Any]) -> None:
    assert f'{items!r} has non-unique elements' in str(Validator(UNIQUE).find_error(items))


@pytest.mark.parametrize(
    'array',
    [
        lambda size: [None, *range(size)],
        lambda size: [{'a': n} for n in range(size)],
        lambda size: [[n] for n in range(size)],
        lambda size: [str(n) for n in range(size)],
    ],
    ids=['of several types', 'of objects', 'of arrays', 'of strings'],
)
def test_work_to_find_equal_items_grows_as_the_array(array: Callable[[int], list[Any]]) -> None:
    validator = Validator(UNIQUE)
    for size in (500, 1_000):
        assert validator.find_error(array(size)) is None

    once, twice = (
        steps_of(functools.partial(validator.find_error, array(size))) for size in (500, 1_000)
    )

    assert twice < 3 * once


def test_deep_value_is_refused_without_quoting_it() -> None:
    deep: list[Any] = []
    for _ in range(MAX_QUOTED_DEPTH + 1):
        deep = [deep]
    error = str(Validator(common.UUID).find_error(deep))

    assert "is not of type 'string'" in error
    assert 'On instance' not in error
    assert 'On instance' in str(Validator(common.UUID).find_error(deep[0]))


def test_a_long_list_is_checked_with_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = list[float]()
    monkeypatch.setattr(time, 'sleep', pauses.append)
    schema = {'type': 'array', 'items': {'type': 'object', 'required': ['a']}}
    validator = Validator(schema)
    every = validation.ITEMS_BETWEEN_PAUSES
    for count, expected in ((0, 0), (1, 0), (every, 0), (every + 1, 1), (10 * every, 9)):
        pauses.clear()
        assert validator.find_error([{'a': 1}] * count) is None
        assert len(pauses) == expected
    # The item is named by its place in the whole list.
    found = validator.find_error([{'a': 1}] * (every + 3) + [{}])
    assert found is not None
    assert f'On instance[{every + 3}]' in found


def test_message_quotes_the_schema_without_the_descriptions_of_members() -> None:
    value = common.described({'type': 'string', 'maxLength': 3}, 'A text for readers.')
    validator = Validator(
        {'type': 'object', 'properties': {'a': value}, 'patternProperties': {'^b': value}}
    )

    for name in ('a', 'b1'):
        message = validator.find_error({name: 'long'})
        assert message is not None
        assert "'maxLength': 3" in message
        assert 'readers' not in message
