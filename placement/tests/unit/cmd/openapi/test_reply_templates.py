# SPDX-License-Identifier: Apache-2.0
"""A template is described as a schema."""

from typing import Any

import pytest

from placement.cmd.openapi.reply_templates import Described, Name, described, parse_template

NUMBER = Described({'type': 'integer'})


@pytest.mark.parametrize(
    ('template', 'schema'),
    [
        (NUMBER, {'type': 'integer'}),
        ('CURRENT', {'const': 'CURRENT'}),
        ([NUMBER], {'type': 'array', 'items': {'type': 'integer'}}),
        (['a', 'b'], {'type': 'array', 'items': {'anyOf': [{'const': 'a'}, {'const': 'b'}]}}),
        (
            {'a': NUMBER, 'b': Described({'type': 'string'}, optional=True)},
            {
                'type': 'object',
                'properties': {'a': {'type': 'integer'}, 'b': {'type': 'string'}},
                'additionalProperties': False,
                'required': ['a'],
            },
        ),
        # A pattern describes any number of members.
        (
            {Name('^[A-Z]+$'): NUMBER},
            {
                'type': 'object',
                'patternProperties': {'^[A-Z]+$': {'type': 'integer'}},
                'additionalProperties': False,
            },
        ),
        (
            {'count': NUMBER, Name('^[A-Z]+$'): NUMBER},
            {
                'type': 'object',
                'properties': {'count': {'type': 'integer'}},
                'patternProperties': {'^[A-Z]+$': {'type': 'integer'}},
                'additionalProperties': False,
                'required': ['count'],
            },
        ),
    ],
)
def test_template_is_described_by_a_schema(template: Any, schema: dict[str, Any]) -> None:
    assert described(template) == schema


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
