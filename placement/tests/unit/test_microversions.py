# SPDX-License-Identifier: Apache-2.0
"""The history of the API is whole, and nothing else knows version numbers.

Specification: microversions. tests/functional/test_gabbi_coverage.py checks that every version has
gabbi tests.
"""

import itertools
import pathlib
import re
import runpy
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from placement import microversions
from placement.http import microversion
from placement.http.microversion import Api
from placement.http.route import AddedRoute
from placement.routes import installed_surface

REPOSITORY = pathlib.Path(microversions.__file__).parents[1]

ADDED = [route for route in installed_surface().routes if isinstance(route, AddedRoute)]
# With what extensions add.
HISTORY = microversion.extended(microversions.HISTORY, ADDED)


def minor_of(version: str) -> int:
    return int(version.removeprefix('1.'))


def at(minor: int) -> Api:
    return installed_surface().apis[1, minor]


def actions(kind: str) -> set[str]:
    """All actions in a member of the changes of the history."""
    return {action for change in HISTORY for action in getattr(change, kind)}


# Actions


def test_every_route_has_a_handler() -> None:
    routed = {route.action for route in installed_surface().routes}

    assert routed == actions('serves')


@pytest.mark.parametrize('kind', ['accepts', 'queries', 'downgrades'])
def test_change_refers_to_actions_that_are_served_by_then(kind: str) -> None:
    for change in HISTORY:
        served = at(minor_of(change.version)).handlers
        assert set(getattr(change, kind)) <= set(served)


# Version numbers


def test_no_other_module_knows_a_version_number() -> None:
    """Search all modules for pairs and texts with a version; comments and VERSION are allowed."""
    text = r"""^(?!\s*(?:#|VERSION = )).*'[^'\n]*(?<![\d.])1\.\d{1,2}(?![.\d])[^'\n]*'"""
    number = re.compile(rf'{text}|\(1, \d{{1,2}}\)', re.MULTILINE)
    found = {
        path.relative_to(REPOSITORY).as_posix()
        for package in ('placement', 'placement_insight')
        for path in (REPOSITORY / package).rglob('*.py')
        if number.search(path.read_text()) and 'tests' not in path.parts
    }

    assert found == {'placement/microversions.py'}


# Schemas


def schemas() -> Iterator[tuple[str, Any]]:
    for change, kind in itertools.product(HISTORY, ('accepts', 'queries')):
        for action, schema in getattr(change, kind).items():
            if schema is not None:
                yield f'{action} {change.version}', schema


@pytest.mark.parametrize('schema', [pytest.param(s, id=name) for name, s in schemas()])
def test_every_schema_is_a_valid_json_schema(schema: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)


def test_generations_of_schemas_follow_from_the_history() -> None:
    found = generations()

    assert found['PUT /resource_classes/{name}'] == ['1.2', '1.7']
    assert found['PUT /allocations/{consumer_uuid}'] == [
        '1.0',
        '1.8',
        '1.12',
        '1.28',
        '1.34',
        '1.38',
    ]
    assert found['GET /usages query'] == ['1.9', '1.38']
    assert found['GET /resource_providers query'] == ['1.0', '1.3', '1.4', '1.14', '1.18']
    assert 'GET /usages' not in found


def generations() -> dict[str, list[str]]:
    """The text that the directive of the specification shows."""
    path = REPOSITORY / 'doc' / 'extensions' / 'microversion_history.py'
    found: dict[str, list[str]] = runpy.run_path(str(path))['generations']()
    return found
