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
USUAL_KINDS = [
    kind for kind in KINDS if kind not in (errors.MethodNotAllowed, errors.UnacceptableVersion)
]


def fields(message: str) -> set[str]:
    return {name for _text, name, _spec, _conversion in string.Formatter().parse(message) if name}


@pytest.mark.parametrize('kind', USUAL_KINDS, ids=lambda kind: kind.__name__)
def test_every_message_can_be_formatted(kind: type[errors.PlacementError]) -> None:
    """Format each message with values that contain braces."""
    values: dict[str, Any] = dict.fromkeys(fields(kind.message), '{x}')

    said = str(kind(**values))

    assert said.count('{x}') == len(values)
    assert said.replace('{x}', '').count('{') == 0


def test_explicit_message_is_not_formatted() -> None:
    assert str(errors.ResourceProviderNotFound('100% {uuid}')) == '100% {uuid}'


@pytest.mark.parametrize('kind', USUAL_KINDS, ids=lambda kind: kind.__name__)
def test_messages_quote_the_beginning_of_long_texts(kind: type[errors.PlacementError]) -> None:
    assert len(str(kind('<' * 1_000_000))) == kind.max_length + len('...')


def test_message_goes_on_behind_a_long_text() -> None:
    name = 'A' * 1_025

    said = str(errors.ResourceClassNotFound(name=name))

    assert said == f'No such resource class {name[:1_024]}....'
    name = name[:1_024]
    assert str(errors.ResourceClassNotFound(name=name)) == f'No such resource class {name}.'
