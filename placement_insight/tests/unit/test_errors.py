# SPDX-License-Identifier: Apache-2.0
"""Errors of the extension have messages like those of the API."""

import inspect

import pytest

from placement.errors import PlacementError
from placement.tests.unit.test_errors import fields
from placement_insight import errors

KINDS = [
    kind
    for _name, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, PlacementError) and kind.__module__ == errors.__name__
]


@pytest.mark.parametrize('kind', KINDS, ids=lambda kind: kind.__name__)
def test_every_message_can_be_formatted(kind: type[PlacementError]) -> None:
    values = dict.fromkeys(fields(kind.message), '{x}')

    said = str(kind(**values))

    assert said.count('{x}') == len(values)
    assert said.replace('{x}', '').count('{') == 0
