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
