# SPDX-License-Identifier: Apache-2.0
"""The history of the API is whole, and nothing else knows version numbers.

Specification: microversions. tests/functional/test_gabbi_coverage.py checks that every version has
gabbi tests.
"""

import itertools
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from placement import microversions, routes
from placement.http.microversion import Api
from placement.tests.unit import specification

PACKAGE = pathlib.Path(microversions.__file__).parent

# The actions of each row of specification: microversions, "Generations of schemas by route".
ACTIONS = {
    'POST, PUT /resource_providers': ('resource_providers.create', 'resource_providers.update'),
    'GET /resource_providers query': ('resource_providers.list',),
    'inventories': ('inventories.create', 'inventories.set', 'inventories.update'),
    'aggregates': ('aggregates.set',),
    'POST /resource_classes': ('resource_classes.create',),
    'PUT /resource_classes/{name}': ('resource_classes.put',),
    'GET /traits query': ('traits.list',),
    'traits of a provider': ('provider_traits.set',),
    'PUT /allocations/{consumer}': ('allocations.set',),
    'POST /allocations': ('allocations.set_many',),
    'POST /reshaper': ('reshaper.reshape',),
    'GET /allocation_candidates query': ('allocation_candidates.list',),
    'GET /usages query': ('usages.show',),
    'GET /insight/allocation_candidates query': ('insight.explain',),
    'POST /insight/allocation_candidates': ('insight.explain_after',),
    'GET /insight/capacity query': ('insight.capacity',),
    'POST /insight/capacity': ('insight.capacities',),
    'POST /insight/survival': ('insight.survival',),
    'POST /insight/drain': ('insight.drain',),
    'POST /insight/moves': ('insight.moves',),
    'GET /insight/unmet_demand query': ('insight.unmet_demand',),
    'GET /insight/providers query': ('insight.providers',),
    'GET /insight/consumers query': ('insight.consumers',),
    'GET /insight/usages query': ('insight.usages',),
    'GET /insight/changes query': ('insight.changes',),
    'GET /insight/history query': ('insight.history',),
}


def minor_of(version: str) -> int:
    return int(version.removeprefix('1.'))


def at(minor: int) -> Api:
    return microversions.APIS[1, minor]


def actions(kind: str) -> set[str]:
    """Every action that some change says something about."""
    return {action for change in microversions.HISTORY for action in getattr(change, kind)}


def generations(kind: str) -> dict[str, list[int]]:
    """The minor versions at which each action gets another schema."""
    found: dict[str, list[int]] = {}
    for change in microversions.HISTORY:
        for action in getattr(change, kind):
            found.setdefault(action, []).append(minor_of(change.version))
    return found


# Actions


def test_every_route_has_a_handler() -> None:
    routed = {route.action for route in routes.ROUTES}

    assert routed == actions('serves')


@pytest.mark.parametrize('kind', ['accepts', 'queries', 'downgrades'])
def test_change_refers_to_actions_that_are_served_by_then(kind: str) -> None:
    for change in microversions.HISTORY:
        served = at(minor_of(change.version)).handlers
        assert set(getattr(change, kind)) <= set(served)


# Version numbers


def test_no_other_module_knows_a_version_number() -> None:
    """Neither as a pair nor in a text; comments are for readers, and objects have versions."""
    text = r"""^(?!\s*(?:#|VERSION = )).*'[^'\n]*(?<![\d.])1\.\d{1,2}(?![.\d])[^'\n]*'"""
    number = re.compile(rf'{text}|\(1, \d+\)', re.MULTILINE)
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob('*.py')
        if number.search(path.read_text()) and 'tests' not in path.parts
    }

    assert found == {'microversions.py'}


# Schemas


def schemas() -> Iterator[tuple[str, Any]]:
    for change, kind in itertools.product(microversions.HISTORY, ('accepts', 'queries')):
        for action, schema in getattr(change, kind).items():
            if schema is not None:
                yield f'{action} {change.version}', schema


@pytest.mark.parametrize('schema', [pytest.param(s, id=name) for name, s in schemas()])
def test_every_schema_is_a_valid_json_schema(schema: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)


def test_schemas_change_at_the_specified_versions() -> None:
    rows = specification.rows_of('microversions', 'Generations of schemas by route')
    specified = {
        # In parentheses are changes of values, which schemas do not know.
        action: [int(minor) for minor in re.findall(r'1\.(\d+)', versions.partition('(')[0])]
        for route, versions in rows
        for action in ACTIONS[route]
    }
    assert generations('accepts') | generations('queries') == specified
