# SPDX-License-Identifier: Apache-2.0
"""What bodies and queries may be, at the version of each.

Specification: microversions, "Generations of schemas by route"; http, "Validation messages".
"""

import copy
from typing import Any

import pytest

from placement import history
from placement.schemas.allocation import MAX_CONSUMERS
from placement.schemas.reshaper import MAX_PROVIDERS

A = 'b7a09e9a-5a8c-4e1d-9c0b-5f6f1d4ad9a1'
B = '0f5d1b52-9d5c-4d0f-8e5f-52a3a1e0a9b2'
MAX = 2147483647


def complaint(action: str, minor: int, body: Any) -> str | None:
    """What is wrong with a body, at a minor version."""
    return history.APIS[1, minor].bodies[action].find_error(body)


def query_complaint(action: str, minor: int, **parameters: str) -> str | None:
    return history.APIS[1, minor].queries[action].find_error(parameters)


def altered(body: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of a body with another value at a path such as `allocations/A/resources`."""
    changed = copy.deepcopy(body)
    *outer, last = path.split('/')
    part = changed
    for name in outer:
        part = part[name]
    if value is MISSING:
        del part[last]
    else:
        part[last] = value
    return changed


MISSING = object()
REQUIRED = 'is a required property'
UNEXPECTED = 'Additional properties are not allowed'
EMPTY = ('does not have enough properties', 'should be non-empty')


def assert_refused(told: str | None, *fragments: str) -> None:
    """One of the fragments is in what is told."""
    assert told is not None
    assert any(fragment in told for fragment in fragments), told


# Providers


@pytest.mark.parametrize('minor', [0, 13, 14, 39])
def test_a_provider_needs_a_name_and_may_choose_its_uuid(minor: int) -> None:
    action = 'resource_providers.create'

    assert complaint(action, minor, {'name': 'host'}) is None
    assert complaint(action, minor, {'name': 'host', 'uuid': A}) is None
    assert complaint(action, minor, {'name': 'x' * 200}) is None
    assert_refused(complaint(action, minor, {}), "'name' is a required property")
    assert_refused(complaint(action, minor, {'name': 'x' * 201}), "validating 'maxLength'")
    assert_refused(complaint(action, minor, {'name': 1}), "is not of type 'string'")
    assert_refused(complaint(action, minor, {'name': 'h', 'uuid': 'x'}), "is not a 'uuid'")
    assert_refused(complaint(action, minor, {'name': 'h', 'uuid': None}), "not of type 'string'")
    assert_refused(
        complaint(action, minor, {'name': 'h', 'bad_field': 1}), "'bad_field' was unexpected"
    )
    assert_refused(complaint(action, minor, []), "is not of type 'object'")


def test_a_uuid_cannot_be_changed() -> None:
    for member in ('uuid', 'root_provider_uuid', 'generation'):
        told = complaint('resource_providers.update', 39, {'name': 'h', member: A})
        assert_refused(told, UNEXPECTED)


@pytest.mark.parametrize('action', ['resource_providers.create', 'resource_providers.update'])
def test_a_parent_can_be_named_since_there_are_trees(action: str) -> None:
    for parent in (A, None, A.upper()):
        body = {'name': 'host', 'parent_provider_uuid': parent}
        assert complaint(action, 14, body) is None
        assert_refused(complaint(action, 13, body), "'parent_provider_uuid' was unexpected")
    assert_refused(
        complaint(action, 14, {'name': 'host', 'parent_provider_uuid': 'x'}), "is not a 'uuid'"
    )


@pytest.mark.parametrize(
    ('parameter', 'since'),
    [
        ('name', 0), ('uuid', 0), ('member_of', 3), ('resources', 4), ('in_tree', 14),
        ('required', 18),
    ],
)  # fmt: skip
def test_a_filter_can_be_used_since_its_version(parameter: str, since: int) -> None:
    for minor in range(40):
        told = query_complaint('resource_providers.list', minor, **{parameter: A})
        if minor >= since:
            assert told is None
        else:
            assert_refused(told, f"{UNEXPECTED} ('{parameter}' was unexpected)")


@pytest.mark.parametrize('parameter', ['uuid', 'in_tree'])
def test_a_filter_by_uuid_takes_uuids(parameter: str) -> None:
    told = query_complaint('resource_providers.list', 39, **{parameter: 'foo'})

    assert_refused(told, "'foo' is not a 'uuid'")


# Inventories

MEMBERS = ('total', 'reserved', 'min_unit', 'max_unit', 'step_size')
LEAST = {'total': 1, 'reserved': 0, 'min_unit': 1, 'max_unit': 1, 'step_size': 1}

# Each with the path of the members of one inventory.
INVENTORY_BODIES: dict[str, tuple[dict[str, Any], str]] = {
    'inventories.create': ({'resource_class': 'VCPU', 'total': 8}, ''),
    'inventories.update': ({'total': 8, 'resource_provider_generation': 1}, ''),
    'inventories.set': (
        {'resource_provider_generation': 1, 'inventories': {'VCPU': {'total': 8}}},
        'inventories/VCPU/',
    ),
}


@pytest.mark.parametrize('action', INVENTORY_BODIES)
@pytest.mark.parametrize('member', MEMBERS)
def test_a_member_of_an_inventory_has_its_limits(action: str, member: str) -> None:
    body, path = INVENTORY_BODIES[action]
    least = LEAST[member]

    for value in (least, MAX, 10.0):
        assert complaint(action, 0, altered(body, path + member, value)) is None
    told = complaint(action, 0, altered(body, path + member, least - 1))
    assert_refused(told, f'{least - 1} is less than the minimum of {least}')
    told = complaint(action, 0, altered(body, path + member, MAX + 1))
    assert_refused(told, "Failed validating 'maximum'")
    for other in (10.5, '10', True, None):
        told = complaint(action, 0, altered(body, path + member, other))
        assert_refused(told, "is not of type 'integer'")


@pytest.mark.parametrize('member', ['total', 'min_unit', 'max_unit', 'step_size'])
def test_the_place_of_a_limit_is_told(member: str) -> None:
    told = complaint('inventories.create', 0, {'resource_class': 'VCPU', 'total': 8, member: 0})

    assert_refused(told, f"Failed validating 'minimum' in schema['properties']['{member}']")


@pytest.mark.parametrize('action', INVENTORY_BODIES)
def test_a_ratio_is_a_number_with_a_largest_one(action: str) -> None:
    body, path = INVENTORY_BODIES[action]

    for value in (16, 1.5, 0, -1, 3.40282e38):
        assert complaint(action, 0, altered(body, f'{path}allocation_ratio', value)) is None
    told = complaint(action, 0, altered(body, f'{path}allocation_ratio', 3.5e38))
    assert_refused(told, "Failed validating 'maximum'")
    told = complaint(action, 0, altered(body, f'{path}allocation_ratio', '1.0'))
    assert_refused(told, "is not of type 'number'")


@pytest.mark.parametrize('action', INVENTORY_BODIES)
def test_an_inventory_has_a_total_and_nothing_unknown(action: str) -> None:
    body, path = INVENTORY_BODIES[action]

    assert complaint(action, 0, body) is None
    assert_refused(
        complaint(action, 0, altered(body, f'{path}total', MISSING)),
        "'total' is a required property",
    )
    assert_refused(complaint(action, 0, altered(body, f'{path}bad_field', 1)), UNEXPECTED)
    generation = altered(body, f'{path}resource_provider_generation', 7)
    assert complaint(action, 0, generation) is None


@pytest.mark.parametrize('action', ['inventories.update', 'inventories.set'])
def test_a_generation_is_required_where_something_is_replaced(action: str) -> None:
    body, _path = INVENTORY_BODIES[action]

    told = complaint(action, 0, altered(body, 'resource_provider_generation', MISSING))

    assert_refused(told, "'resource_provider_generation' is a required property")


@pytest.mark.parametrize('name', ['VCPU', 'CUSTOM_A', '0', '_'])
def test_a_class_is_named_in_capitals(name: str) -> None:
    assert complaint('inventories.create', 0, {'resource_class': name, 'total': 1}) is None
    told = complaint('inventories.create', 0, {'resource_class': name + '-a', 'total': 1})
    assert_refused(told, "Failed validating 'pattern'")


def test_all_inventories_may_be_none() -> None:
    body = {'resource_provider_generation': 1, 'inventories': {}}

    assert complaint('inventories.set', 0, body) is None
    assert_refused(complaint('inventories.set', 0, {'resource_provider_generation': 1}), REQUIRED)


def test_a_class_that_cannot_be_is_left_to_be_told_as_unknown() -> None:
    for value, is_fine in (({'total': 1}, True), ({}, True), (1, False), ([], False)):
        body = {'resource_provider_generation': 1, 'inventories': {'vcpu': value}}
        assert (complaint('inventories.set', 0, body) is None) is is_fine


# Which of several complaints is told


@pytest.mark.parametrize(
    ('action', 'missing'),
    [
        ('resource_providers.create', 'name'),
        ('inventories.create', 'total'),
        ('inventories.update', 'total'),
        ('inventories.set', 'resource_provider_generation'),
        ('aggregates.set', 'aggregates'),
        ('provider_traits.set', 'traits'),
        ('resource_classes.create', 'name'),
        ('reshaper.reshape', 'inventories'),
    ],
)
def test_what_is_missing_is_told_before_what_is_too_much(action: str, missing: str) -> None:
    assert str(complaint(action, 39, {'pony': 1})).startswith(f"'{missing}' {REQUIRED}")


@pytest.mark.parametrize('minor', [0, 8, 12, 28, 34, 38])
def test_of_allocations_what_is_too_much_is_told_first(minor: int) -> None:
    assert_refused(complaint('allocations.set', minor, {'pony': 1}), "'pony' was unexpected")


def test_of_one_allocation_what_is_missing_is_told_first() -> None:
    by_provider = {'allocations': {A: {'pony': 1}}, 'project_id': 'p', 'user_id': 'u'}
    listed = {'allocations': [{'resource_provider': {'uuid': A}, 'pony': 1}]}

    assert_refused(complaint('allocations.set', 12, by_provider), f"'resources' {REQUIRED}")
    assert_refused(complaint('allocations.set', 0, listed), f"'resources' {REQUIRED}")


def test_a_type_that_cannot_be_is_told_by_its_pattern_first() -> None:
    told = query_complaint('usages.show', 38, project_id='p', consumer_type='')

    assert_refused(told, "'' does not match")


@pytest.mark.parametrize('action', ['resource_providers.create', 'resource_providers.update'])
def test_a_parent_is_a_uuid_or_null(action: str) -> None:
    for parent, fragment in (
        ('x', "'x' is not a 'uuid'"),
        (1, '1 is not valid under any of the given schemas'),
    ):
        body = {'name': 'a', 'parent_provider_uuid': parent}
        assert_refused(complaint(action, 14, body), fragment)


# Aggregates, traits, classes


def test_aggregates_are_a_list_and_later_an_object() -> None:
    bare = [A, B]
    named = {'aggregates': bare, 'resource_provider_generation': 1}

    assert complaint('aggregates.set', 18, bare) is None
    assert complaint('aggregates.set', 19, named) is None
    assert_refused(complaint('aggregates.set', 18, named), "is not of type 'array'")
    assert_refused(complaint('aggregates.set', 19, bare), "is not of type 'object'")
    for member in named:
        told = complaint('aggregates.set', 19, altered(named, member, MISSING))
        assert_refused(told, f"'{member}' is a required property")


@pytest.mark.parametrize(
    ('uuids', 'fragment'),
    [([A, A], 'has non-unique elements'), (['x'], "is not a 'uuid'"), ([1], 'not of type')],
)
def test_aggregates_are_different_uuids(uuids: list[Any], fragment: str) -> None:
    assert_refused(complaint('aggregates.set', 1, uuids), fragment)
    body = {'aggregates': uuids, 'resource_provider_generation': 1}
    assert_refused(complaint('aggregates.set', 19, body), fragment)


def test_aggregates_may_be_spelled_differently_and_be_none() -> None:
    for uuids in ([], [A, A.upper(), A.replace('-', '')]):
        assert complaint('aggregates.set', 1, uuids) is None


def test_traits_come_with_a_generation_and_may_repeat() -> None:
    body: dict[str, Any] = {'traits': ['T', 'T'], 'resource_provider_generation': 1}

    assert complaint('provider_traits.set', 6, body) is None
    assert complaint('provider_traits.set', 6, altered(body, 'traits', [])) is None
    assert complaint('provider_traits.set', 6, altered(body, 'traits', ['x' * 255])) is None
    for value, fragment in (
        ('invalid_type', "'invalid_type' is not of type 'array'"),
        ([''], "Failed validating 'minLength'"),
        (['x' * 256], "Failed validating 'maxLength'"),
        ([1], "is not of type 'string'"),
        (MISSING, "'traits' is a required property"),
    ):
        told = complaint('provider_traits.set', 6, altered(body, 'traits', value))
        assert_refused(told, fragment)
    told = complaint(
        'provider_traits.set', 6, altered(body, 'resource_provider_generation', MISSING)
    )
    assert_refused(told, "'resource_provider_generation' is a required property")


@pytest.mark.parametrize('action', ['resource_classes.create', 'resource_classes.put'])
def test_a_class_that_is_made_is_custom(action: str) -> None:
    assert complaint(action, 2, {'name': 'CUSTOM_A'}) is None
    assert complaint(action, 2, {'name': 'CUSTOM_' + 'A' * 248}) is None
    for name in ('VCPU', 'CUSTOM_', 'CUSTOM_a', 'XCUSTOM_A', ''):
        assert_refused(complaint(action, 2, {'name': name}), "Failed validating 'pattern'")
    told = complaint(action, 2, {'name': 'CUSTOM_' + 'A' * 249})
    assert_refused(told, "Failed validating 'maxLength'")
    assert_refused(complaint(action, 2, {}), REQUIRED)
    assert_refused(complaint(action, 2, {'name': 'CUSTOM_A', 'x': 1}), UNEXPECTED)


def test_traits_are_listed_by_two_parameters() -> None:
    assert query_complaint('traits.list', 6, name='in:T', associated='true') is None
    assert_refused(query_complaint('traits.list', 6, names='in:T'), UNEXPECTED)


# Usages


def test_usages_are_those_of_a_project_and_perhaps_of_a_user() -> None:
    action = 'usages.show'

    assert query_complaint(action, 9, project_id='p', user_id='u') is None
    assert query_complaint(action, 9, project_id='x' * 255) is None
    assert_refused(query_complaint(action, 9), "'project_id' is a required property")
    for parameter in ('project_id', 'user_id'):
        for value, keyword in (('', 'minLength'), ('x' * 256, 'maxLength')):
            parameters = {'project_id': 'p', parameter: value}
            told = query_complaint(action, 9, **parameters)
            assert_refused(told, f"Failed validating '{keyword}'")
    assert_refused(query_complaint(action, 37, project_id='p', consumer_type='A'), UNEXPECTED)


@pytest.mark.parametrize('value', ['INSTANCE', 'A_0', 'all', 'unknown', 'ALL', 'allx'])
def test_usages_can_be_asked_for_by_type(value: str) -> None:
    assert query_complaint('usages.show', 38, project_id='p', consumer_type=value) is None


@pytest.mark.parametrize('value', ['instance', 'unknownx', 'xall', 'A-B', '', 'A' * 256])
def test_what_is_no_type_is_refused(value: str) -> None:
    told = query_complaint('usages.show', 38, project_id='p', consumer_type=value)

    assert_refused(told, 'Failed validating')


# Allocations

AS_LIST: dict[str, Any] = {
    'allocations': [{'resource_provider': {'uuid': A}, 'resources': {'VCPU': 1}}]
}
OWNER = {'project_id': 'p', 'user_id': 'u'}
BY_PROVIDER: dict[str, Any] = {'allocations': {A: {'resources': {'VCPU': 1}}}, **OWNER}
NEWEST = BY_PROVIDER | {'consumer_generation': None, 'consumer_type': 'INSTANCE'}


def test_the_list_of_the_first_claims_is_neither_empty_nor_more_than_it_was() -> None:
    entry = AS_LIST['allocations'][0]

    assert complaint('allocations.set', 0, AS_LIST) is None
    assert_refused(complaint('allocations.set', 0, {'allocations': []}), "'minItems'", *EMPTY)
    for changed in (
        altered(entry, 'resource_provider/name', 'x'),
        altered(entry, 'generation', 1),
    ):
        assert_refused(complaint('allocations.set', 0, {'allocations': [changed]}), UNEXPECTED)
    for path in ('resource_provider', 'resources', 'resource_provider/uuid'):
        body = {'allocations': [altered(entry, path, MISSING)]}
        assert_refused(complaint('allocations.set', 0, body), REQUIRED)
    body = {'allocations': [altered(entry, 'resource_provider/uuid', 'x')]}
    assert_refused(complaint('allocations.set', 0, body), "is not a 'uuid'")


def test_owners_are_unknown_members_before_they_are_required() -> None:
    owned = AS_LIST | OWNER

    assert_refused(complaint('allocations.set', 7, owned), UNEXPECTED)
    assert complaint('allocations.set', 8, owned) is None
    assert_refused(complaint('allocations.set', 8, AS_LIST), REQUIRED)


@pytest.mark.parametrize('member', ['project_id', 'user_id'])
def test_an_owner_has_a_name_of_one_to_255_characters(member: str) -> None:
    for minor, body in ((8, AS_LIST | OWNER), (12, BY_PROVIDER), (38, NEWEST)):
        assert complaint('allocations.set', minor, body | {member: 'x' * 255}) is None
        for value, fragment in (
            ('', "'minLength'"),
            ('x' * 256, "'maxLength'"),
            (None, "is not of type 'string'"),
        ):
            assert_refused(complaint('allocations.set', minor, body | {member: value}), fragment)


def test_the_list_gives_way_to_an_object() -> None:
    assert_refused(complaint('allocations.set', 11, BY_PROVIDER), "is not of type 'array'")
    assert complaint('allocations.set', 12, BY_PROVIDER) is None
    assert_refused(complaint('allocations.set', 12, AS_LIST | OWNER), "is not of type 'object'")


def test_a_generation_of_a_provider_may_be_sent_back() -> None:
    body = altered(BY_PROVIDER, f'allocations/{A}/generation', 5)

    assert complaint('allocations.set', 12, body) is None
    told = complaint('allocations.set', 12, altered(body, f'allocations/{A}/x', 5))
    assert_refused(told, UNEXPECTED)


def test_having_nothing_can_be_said_to_put_since_consumers_have_generations() -> None:
    nothing = altered(BY_PROVIDER, 'allocations', {})

    assert_refused(complaint('allocations.set', 27, nothing), *EMPTY)
    assert complaint('allocations.set', 28, nothing | {'consumer_generation': 1}) is None


def test_having_nothing_can_be_said_to_post_from_the_first() -> None:
    nothing = altered(BY_PROVIDER, 'allocations', {})

    assert complaint('allocations.set_many', 13, {B: nothing, A: BY_PROVIDER}) is None


@pytest.mark.parametrize('resources', [{'VCPU': 0}, {'VCPU': -1}, {'VCPU': 1.5}, {'VCPU': '1'}])
def test_an_amount_is_a_positive_integer(resources: dict[str, Any]) -> None:
    for action, body in (
        ('allocations.set', altered(NEWEST, f'allocations/{A}/resources', resources)),
        ('allocations.set_many', {B: altered(NEWEST, f'allocations/{A}/resources', resources)}),
    ):
        assert_refused(
            complaint(action, 39, body), 'less than the minimum of 1', "not of type 'integer'"
        )


def test_names_of_classes_and_uuids_have_their_pattern() -> None:
    for path, value in (
        (f'allocations/{A}/resources/vcpu', 1),
        ('allocations/foo', {'resources': {'VCPU': 1}}),
    ):
        told = complaint('allocations.set', 39, altered(NEWEST, path, value))
        assert_refused(told, 'does not match any of the regexes')
    told = complaint('allocations.set_many', 39, {'foo': NEWEST})
    assert_refused(told, 'does not match any of the regexes')


def test_resources_and_several_consumers_are_not_empty() -> None:
    told = complaint('allocations.set', 39, altered(NEWEST, f'allocations/{A}/resources', {}))
    assert_refused(told, *EMPTY)
    assert_refused(complaint('allocations.set_many', 39, {}), *EMPTY)


def test_a_consumer_generation_is_required_and_may_be_null() -> None:
    for value in (None, 0, 5, 5.0):
        body = BY_PROVIDER | {'consumer_generation': value}
        assert complaint('allocations.set', 28, body) is None
        assert_refused(complaint('allocations.set', 27, body), UNEXPECTED)
    assert_refused(complaint('allocations.set', 28, BY_PROVIDER), REQUIRED)
    told = complaint('allocations.set', 28, BY_PROVIDER | {'consumer_generation': '1'})
    assert_refused(told, 'is not of type')


@pytest.mark.parametrize(
    ('mappings', 'is_fine'),
    [
        ({'': [A]}, True),
        ({'_NET': [A, B], '1': [A]}, True),
        ({A: [A]}, True),
        # The pattern is not anchored, and asks for one character at least.
        ({'': 'anything'}, True),
        ({'ä': 1}, True),
        ({}, False),
        ({'1': []}, False),
        ({'1': ['x']}, False),
        ({'1': A}, False),
        ({'ä1': 1}, False),
        (None, False),
    ],
)
def test_mappings_are_checked_where_their_name_says_anything(mappings: Any, is_fine: bool) -> None:
    body = BY_PROVIDER | {'consumer_generation': None, 'mappings': mappings}

    assert (complaint('allocations.set', 34, body) is None) is is_fine
    assert (complaint('allocations.set_many', 34, {B: body}) is None) is is_fine
    assert_refused(complaint('allocations.set', 33, body), UNEXPECTED)


@pytest.mark.parametrize(
    ('value', 'fragment'),
    [
        ('INSTANCE', None),
        ('UNKNOWN', None),
        ('A' * 255, None),
        ('A' * 256, "'maxLength'"),
        ('', 'Failed validating'),
        ('instance', "'instance' does not match '^[A-Z0-9_]+$'"),
        ('unknown', 'does not match'),
        (None, "is not of type 'string'"),
        (MISSING, "'consumer_type' is a required property"),
    ],
)
def test_a_type_is_required_since_there_are_types(value: Any, fragment: str | None) -> None:
    told = complaint('allocations.set', 38, altered(NEWEST, 'consumer_type', value))

    if fragment is None:
        assert told is None
    else:
        assert_refused(told, fragment)


# The reshaper

RESHAPE: dict[str, Any] = {
    'inventories': {A: {'resource_provider_generation': 1, 'inventories': {'VCPU': {'total': 1}}}},
    'allocations': {B: NEWEST},
}


def test_a_reshape_has_some_inventories_and_perhaps_no_allocations() -> None:
    assert complaint('reshaper.reshape', 38, RESHAPE) is None
    assert complaint('reshaper.reshape', 38, altered(RESHAPE, 'allocations', {})) is None
    empty = altered(RESHAPE, f'inventories/{A}/inventories', {})
    assert complaint('reshaper.reshape', 38, empty) is None
    nothing = altered(RESHAPE, f'allocations/{B}/allocations', {})
    assert complaint('reshaper.reshape', 38, nothing) is None
    assert_refused(complaint('reshaper.reshape', 38, altered(RESHAPE, 'inventories', {})), *EMPTY)
    for member in RESHAPE:
        told = complaint('reshaper.reshape', 38, altered(RESHAPE, member, MISSING))
        assert_refused(told, f"'{member}' is a required property")
    assert_refused(complaint('reshaper.reshape', 38, RESHAPE | {'x': 1}), UNEXPECTED)


@pytest.mark.parametrize(
    ('path', 'value', 'fragment'),
    [
        ('inventories', [], "is not of type 'object'"),
        (f'inventories/{A}/resource_provider_generation', MISSING, REQUIRED),
        (f'inventories/{A}/inventories/VCPU/total', 0, 'less than the minimum of 1'),
        ('inventories/foo', {}, 'does not match any of the regexes'),
        (f'allocations/{B}/consumer_generation', MISSING, REQUIRED),
        (f'allocations/{B}/consumer_type', MISSING, REQUIRED),
        ('allocations/foo', {}, 'does not match any of the regexes'),
    ],
)
def test_parts_of_a_reshape_are_checked_as_they_are_alone(
    path: str, value: Any, fragment: str
) -> None:
    assert_refused(complaint('reshaper.reshape', 38, altered(RESHAPE, path, value)), fragment)


@pytest.mark.parametrize('action', ['allocations.set_many', 'reshaper.reshape'])
def test_too_many_consumers_are_refused_before_any_of_them_is_checked(action: str) -> None:
    """Checking each of them takes a worker seconds."""
    many: dict[str, Any] = {f'consumer {number}': None for number in range(MAX_CONSUMERS + 1)}
    body = many if action == 'allocations.set_many' else RESHAPE | {'allocations': many}
    told = complaint(action, 38, body)
    assert_refused(told, "Failed validating 'maxProperties'")


def test_too_many_providers_of_a_reshape_are_refused_before_any_of_them_is_checked() -> None:
    many: dict[str, Any] = {f'provider {number}': None for number in range(MAX_PROVIDERS + 1)}
    told = complaint('reshaper.reshape', 38, RESHAPE | {'inventories': many})
    assert_refused(told, "Failed validating 'maxProperties'")
