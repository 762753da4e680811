# SPDX-License-Identifier: Apache-2.0
"""Errors have a status, a code and words (specification: http, "Error codes")."""

import inspect
import string
from typing import Any

import pytest

from placement import errors

KINDS = [
    kind
    for _name, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, errors.PlacementError)
]


def fields(message: str) -> set[str]:
    return {name for _text, name, _spec, _conversion in string.Formatter().parse(message) if name}


@pytest.mark.parametrize('kind', KINDS, ids=lambda kind: kind.__name__)
def test_every_message_can_be_formatted(kind: type[errors.PlacementError]) -> None:
    """Values are put in, and braces in them stay as they are."""
    if kind in (errors.MethodNotAllowed, errors.UnacceptableVersion):
        pytest.skip('made in a way of its own')
    values: dict[str, Any] = dict.fromkeys(fields(kind.message), '{x}')

    said = str(kind(**values))

    assert said.count('{x}') == len(values)
    assert said.replace('{x}', '').count('{') == 0


def test_explicit_message_is_not_formatted() -> None:
    assert str(errors.ResourceProviderNotFound('100% {uuid}')) == '100% {uuid}'


# Reporting an error as another


@pytest.mark.parametrize(
    ('reported', 'kind', 'words'),
    [
        (errors.NotFound, errors.BadRequest, 'a: No resource provider with uuid u found z'),
        # Errors of other classes pass.
        (
            errors.Conflict,
            errors.ResourceProviderNotFound,
            'No resource provider with uuid u found',
        ),
    ],
)
def test_reported_as_raises_the_other_error_with_prefix_and_suffix(
    reported: type[errors.PlacementError], kind: type[errors.PlacementError], words: str
) -> None:
    missing = errors.ResourceProviderNotFound(uuid='u')

    with (
        pytest.raises(kind) as raised,
        errors.reported_as(
            errors.BadRequest, reported, errors.Forbidden, prefix='a: ', suffix=' z'
        ),
    ):
        raise missing

    assert (type(raised.value), str(raised.value)) == (kind, words)
    assert missing in (raised.value, raised.value.__cause__)
