# SPDX-License-Identifier: Apache-2.0
"""Values that schemas accept and refuse, where no gabbi test sends them.

Specification: microversions, "Generations of schemas by route"; http, "Validation messages".
"""

import copy
from typing import Any

import pytest

from placement import microversions
from placement.routes import installed_surface
from placement.schemas.allocation import MAX_CONSUMERS, MAX_PROVIDERS
from placement.schemas.common import MAX_INT

NEWEST = installed_surface().apis[max(microversions.APIS)]
A = 'b7a09e9a-5a8c-4e1d-9c0b-5f6f1d4ad9a1'
CLAIM: dict[str, Any] = {
    'allocations': {A: {'resources': {'VCPU': 1}}},
    'project_id': 'p',
    'user_id': 'u',
    'consumer_generation': None,
    'consumer_type': 'INSTANCE',
}
INVENTORIES = {'resource_provider_generation': 1, 'inventories': {'VCPU': {'total': 8}}}

# A body of each action in its newest shape.
BODIES: dict[str, Any] = {
    'resource_providers.create': {'name': 'host'},
    'resource_providers.update': {'name': 'host'},
    'inventories.create': {'resource_class': 'VCPU', 'total': 8},
    'inventories.update': {'total': 8, 'resource_provider_generation': 1},
    'inventories.set': INVENTORIES,
    'aggregates.set': {'aggregates': [A], 'resource_provider_generation': 1},
    'provider_traits.set': {'traits': ['T', 'T'], 'resource_provider_generation': 1},
    'resource_classes.create': {'name': 'CUSTOM_A'},
    'allocations.set': CLAIM,
    'reshaper.reshape': {'inventories': {A: INVENTORIES}, 'allocations': {A: CLAIM}},
}


def find_error(action: str, path: str, value: Any) -> str | None:
    """The error of a body with another value at a path such as `allocations/A/resources`."""
    body = part = copy.deepcopy(BODIES[action])
    *outer, last = path.split('/')
    for name in outer:
        part = part[name]
    part[last] = value
    return NEWEST.bodies[action].find_error(body)


@pytest.mark.parametrize('action', ['inventories.create', 'inventories.update', 'inventories.set'])
@pytest.mark.parametrize(
    ('member', 'least'),
    [('total', 1), ('reserved', 0), ('min_unit', 1), ('max_unit', 1), ('step_size', 1)],
)
def test_member_of_an_inventory_has_its_bounds(action: str, member: str, least: int) -> None:
    path = f'inventories/VCPU/{member}' if action.endswith('set') else member

    for value in (least, MAX_INT, 10.0):
        assert find_error(action, path, value) is None
    for other, words in (
        (least - 1, f'{least - 1} is less than the minimum of {least}'),
        (MAX_INT + 1, "Failed validating 'maximum'"),
        *((value, "is not of type 'integer'") for value in (10.5, '10', True, None)),
    ):
        assert words in str(find_error(action, path, other))


C = f'allocations/{A}'


@pytest.mark.parametrize(
    ('action', 'path', 'value', 'words'),
    [
        ('resource_providers.create', 'uuid', None, "not of type 'string'"),
        ('resource_providers.create', 'parent_provider_uuid', A.upper(), None),
        ('resource_providers.update', 'parent_provider_uuid', 1, 'any of the given schemas'),
        ('inventories.create', 'allocation_ratio', 3.40282e38, None),
        ('inventories.create', 'allocation_ratio', 3.5e38, "Failed validating 'maximum'"),
        ('inventories.create', 'total', 0, "'minimum' in schema['properties']['total']"),
        ('inventories.create', 'resource_class', 1, "is not of type 'string'"),
        # A class that cannot be is refused as unknown later.
        ('inventories.set', 'inventories/vcpu', {}, None),
        ('inventories.set', 'inventories/vcpu', 1, "is not of type 'object'"),
        ('aggregates.set', 'aggregates', [1], "not of type 'string'"),
        ('provider_traits.set', 'traits', ['x' * 255], None),
        ('provider_traits.set', 'traits', ['x' * 256], "Failed validating 'maxLength'"),
        ('resource_classes.create', 'name', 'CUSTOM_' + 'A' * 248, None),
        ('resource_classes.create', 'name', 'CUSTOM_' + 'A' * 249, "'maxLength'"),
        ('resource_classes.create', 'name', 'XCUSTOM_A', "Failed validating 'pattern'"),
        ('allocations.set', f'{C}/generation', '5', "is not of type 'integer'"),
        ('allocations.set', f'{C}/resources/VCPU', 1.5, "not of type 'integer'"),
        ('allocations.set', 'consumer_generation', 5.0, None),
        ('allocations.set', 'consumer_generation', '1', "not of type 'integer', 'null'"),
        ('allocations.set', 'mappings', {'_NET': [A, A], A: [A]}, None),
        # The pattern is not anchored, and asks for one character at least.
        ('allocations.set', 'mappings', {'': 'anything', 'ä': 1}, None),
        ('allocations.set', 'mappings', {'ä1': 1}, "is not of type 'array'"),
        ('allocations.set', 'mappings', None, "is not of type 'object'"),
        ('allocations.set', 'user_id', 'x' * 255, None),
        ('allocations.set', 'user_id', 'x' * 256, "'maxLength'"),
        ('allocations.set', 'user_id', None, "is not of type 'string'"),
        ('allocations.set', 'consumer_type', 'A' * 255, None),
        ('allocations.set', 'consumer_type', 'A' * 256, "'maxLength'"),
        ('allocations.set', 'consumer_type', None, "is not of type 'string'"),
        # Of several errors, one is reported.
        ('allocations.set', 'consumer_type', '', "'' does not match"),
        ('allocations.set', C, {'pony': 1}, "'resources' is a required property"),
        ('reshaper.reshape', C + '/consumer_type', 'a', "'a' does not match"),
    ],
)
def test_value_of_a_body(action: str, path: str, value: Any, words: str | None) -> None:
    error = find_error(action, path, value)

    assert error is None if words is None else words in str(error)


@pytest.mark.parametrize('action', BODIES)
def test_every_member_of_these_bodies_is_required(action: str) -> None:
    for member in BODIES[action]:
        body = {name: value for name, value in BODIES[action].items() if name != member}
        error = NEWEST.bodies[action].find_error(body)
        assert f"'{member}' is a required property" in str(error)


@pytest.mark.parametrize('action', BODIES)
def test_missing_members_are_reported_before_unknown_ones_save_for_claims(action: str) -> None:
    words = 'was unexpected' if action == 'allocations.set' else 'is a required property'

    assert words in str(NEWEST.bodies[action].find_error({'pony': 1}))


@pytest.mark.parametrize('action', ['allocations.set_many', 'reshaper.reshape'])
def test_too_many_consumers_are_refused_before_any_of_them_is_checked(action: str) -> None:
    """Count the consumers first: checking each would take seconds."""
    many: dict[str, Any] = {f'consumer {number}': None for number in range(MAX_CONSUMERS + 1)}
    reshape = BODIES['reshaper.reshape'] | {'allocations': many}
    error = NEWEST.bodies[action].find_error(many if action.endswith('many') else reshape)
    assert "Failed validating 'maxProperties'" in str(error)


def test_too_many_providers_of_a_reshape_are_refused_before_any_of_them_is_checked() -> None:
    many: dict[str, Any] = {f'provider {number}': None for number in range(MAX_PROVIDERS + 1)}
    error = find_error('reshaper.reshape', 'inventories', many)
    assert "Failed validating 'maxProperties'" in str(error)


@pytest.mark.parametrize('value', ['INSTANCE', 'A_0', 'all', 'unknown', 'ALL', 'allx'])
def test_usages_of_a_consumer_type(value: str) -> None:
    query = {'project_id': 'p', 'consumer_type': value}
    assert NEWEST.queries['usages.show'].find_error(query) is None


@pytest.mark.parametrize('value', ['instance', 'unknownx', 'xall', 'A-B', '', 'A' * 256])
def test_text_that_is_no_consumer_type_is_refused(value: str) -> None:
    error = NEWEST.queries['usages.show'].find_error({'project_id': 'p', 'consumer_type': value})
    assert 'Failed validating' in str(error)
