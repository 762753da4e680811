# SPDX-License-Identifier: Apache-2.0
"""A template is described as a schema, also after it went through a downgrade."""

from typing import Any

from placement.cmd.openapi.reply_templates import Described, Name, described, parse_template
from placement.http import conversions
from placement.http.reply import Reply

NUMBER = Described({'type': 'integer'})


def test_value_of_a_template_is_described_by_its_schema() -> None:
    assert described(NUMBER) == {'type': 'integer'}


def test_schema_requires_members_unless_they_are_optional() -> None:
    schema = described({'a': NUMBER, 'b': Described({'type': 'string'}, optional=True)})

    assert schema == {
        'type': 'object',
        'properties': {'a': {'type': 'integer'}, 'b': {'type': 'string'}},
        'additionalProperties': False,
        'required': ['a'],
    }


def test_pattern_as_member_name_describes_any_number_of_members() -> None:
    schema = described({Name('^[A-Z]+$'): NUMBER})

    assert schema == {
        'type': 'object',
        'patternProperties': {'^[A-Z]+$': {'type': 'integer'}},
        'additionalProperties': False,
    }


def test_schema_requires_fixed_members_beside_patterns() -> None:
    schema = described({'count': NUMBER, Name('^[A-Z]+$'): NUMBER})

    assert schema['required'] == ['count']
    assert list(schema['properties']) == ['count']


def test_literal_of_a_template_is_described_as_a_constant() -> None:
    assert described('CURRENT') == {'const': 'CURRENT'}


def test_list_of_a_template_describes_alternatives_of_its_elements() -> None:
    assert described([NUMBER]) == {'type': 'array', 'items': {'type': 'integer'}}
    assert described(['a', 'b'])['items'] == {'anyOf': [{'const': 'a'}, {'const': 'b'}]}


def test_downgrade_of_a_template_downgrades_its_schema() -> None:
    template = {'a': NUMBER, 'b': NUMBER}

    assert list(described(conversions.without('b')(Reply(template)).body)['properties']) == ['a']


def test_pattern_as_value_keeps_its_schema() -> None:
    requests: Any = [{'allocations': {Name('^[a-f]$'): {'resources': {}}}}]
    body = conversions.candidates_as_list({'allocation_requests': requests})

    (request,) = body['allocation_requests']
    provider = request['allocations'][0]['resource_provider']
    assert described(provider['uuid']) == {'type': 'string', 'pattern': '^[a-f]$'}


def test_name_of_a_member_says_that_it_may_be_missing_or_null() -> None:
    template = parse_template({'a?': '<text>', 'b or null': '<text>', 'c or null': ['<text>']})

    schema = described(template)
    assert schema['required'] == ['b', 'c']
    assert schema['properties']['b'] == {'type': ['string', 'null']}
    assert schema['properties']['c']['anyOf'][1] == {'type': 'null'}


def test_brackets_name_a_value_or_any_number_of_members() -> None:
    schema = described(parse_template({'<trait>': {'rel': 'self', 'href': '<text>'}}))

    (member,) = schema['patternProperties'].values()
    assert member['properties'] == {'rel': {'const': 'self'}, 'href': {'type': 'string'}}
