# SPDX-License-Identifier: Apache-2.0
"""The quick test of values accepts only what jsonschema accepts, and what clients send."""

from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement import history
from placement.http.acceptance import acceptance
from placement.http.validation import FORMATS, Validator
from placement.schemas import allocation, common

UUID = 'b7a09e9a-5a8c-4e1d-9c0b-5f6f1d4ad9a1'
TEXTS = st.sampled_from(
    ['', 'VCPU', 'CUSTOM_A', UUID, UUID.replace('-', ''), 'x', 'x\n', 'VCPU\n', 'x' * 256, '1']
)
NUMBERS = st.sampled_from([-1, 0, 1, 1.0, 1.5, 2**31 - 1, 2**31, 2**70])
SCALARS = TEXTS | NUMBERS | st.none() | st.booleans()
ANYTHING = st.recursive(
    SCALARS,
    lambda parts: st.lists(parts, max_size=2) | st.dictionaries(TEXTS, parts, max_size=2),
    max_leaves=4,
)


def all_schemas() -> Iterator[Mapping[str, Any]]:
    """The schemas of all bodies and queries at all versions, each once."""
    validators = {
        id(validator.schema): validator
        for api in history.APIS.values()
        for validator in [*api.bodies.values(), *api.queries.values()]
    }
    for validator in validators.values():
        yield validator.schema


SCHEMAS = list(all_schemas())


def values_near(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Values that a schema allows, or nearly."""
    choices: list[st.SearchStrategy[Any]] = [SCALARS]
    if 'enum' in schema:
        choices.append(st.sampled_from(schema['enum']))
    if 'anyOf' in schema:
        choices += map(values_near, schema['anyOf'])
    if 'items' in schema:
        choices.append(st.lists(values_near(schema['items']), max_size=3))
    if 'properties' in schema or 'patternProperties' in schema:
        known = {name: values_near(part) for name, part in schema.get('properties', {}).items()}
        by_name = [values_near(part) for part in schema.get('patternProperties', {}).values()]
        others = st.dictionaries(TEXTS, st.one_of(*by_name, SCALARS), max_size=2)
        required = {name: known[name] for name in schema.get('required', ()) if name in known}
        optional = {name: part for name, part in known.items() if name not in required}
        whole = st.fixed_dictionaries(required, optional=optional)
        choices += [whole, st.builds(lambda one, more: one | more, whole, others), ANYTHING]
    return st.one_of(*reversed(choices))


@given(st.data())
def test_nothing_is_accepted_that_jsonschema_refuses(data: st.DataObject) -> None:
    schema = data.draw(st.sampled_from(SCHEMAS))
    value = data.draw(values_near(schema))
    if acceptance(schema, FORMATS.conforms)(value):
        checker = jsonschema.Draft202012Validator(schema, format_checker=FORMATS)
        assert checker.is_valid(value)
        assert Validator(schema).find_error(value) is None


@pytest.mark.parametrize(
    ('schema', 'value'),
    [
        ({'minimum': 1}, 0),
        ({'minimum': 1}, 0.5),
        ({'type': 'integer'}, True),
        ({'enum': ['1']}, 1),
        ({'uniqueItems': True}, ['a', 'a']),
        ({'uniqueItems': True}, [1, 1.0]),
        ({'type': 'string', 'pattern': common.RESOURCE_CLASS_PATTERN}, 'VCPU\n'),
        (allocation.RESOURCES, {'VCPU\n': 1}),
        (allocation.RESOURCES, {'VCPU': 1, 'vcpu': 1}),
        (allocation.RESOURCES, {'VCPU': True}),
        (allocation.RESOURCES, {}),
        ({'anyOf': [common.UUID, {'type': 'null'}]}, 'x'),
        # A keyword that the test does not know may forbid anything.
        ({'not': {'type': 'string'}}, 1),
        ({'properties': {'a': {'not': {}}}}, {'a': 1}),
    ],
)
def test_what_may_be_wrong_is_left_to_jsonschema(schema: Mapping[str, Any], value: Any) -> None:
    assert not acceptance(schema, FORMATS.conforms)(value)


def test_the_body_of_a_claim_is_accepted() -> None:
    claim = {
        'allocations': {UUID: {'resources': {'VCPU': 1, 'MEMORY_MB': 512}}},
        'mappings': {'_A': [UUID]},
        'consumer_generation': None,
        'project_id': 'project',
        'user_id': 'user',
        'consumer_type': 'INSTANCE',
    }
    assert acceptance(allocation.SET_WITH_TYPE, FORMATS.conforms)(claim)
    assert acceptance(allocation.SET_MANY_WITH_TYPE, FORMATS.conforms)({UUID: claim})
