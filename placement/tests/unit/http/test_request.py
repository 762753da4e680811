# SPDX-License-Identifier: Apache-2.0
"""JSON and query of a request (specification: http, "Request content")."""

from typing import Any
from unittest import mock

import pytest
import webob

from placement import errors, microversions
from placement.context import RequestContext
from placement.http import candidate_query, microversion, querystring
from placement.http.request import Query, Request, parse_json
from placement.http.service import Service

# JSON


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        ('{"a": [1, "b", null, true]}', {'a': [1, 'b', None, True]}),
        ('"Grüße ☃ \U0001f427"', 'Grüße ☃ \U0001f427'),
        (r'"\ud83d\udc27"', '\U0001f427'),
        (r'"\\u0000"', r'\u0000'),
        ('10.0', 10),
        ('-0.0', 0),
        ('1e3', 1000),
        # Beyond exact integers.
        ('1e30', 1e30),
        ('10.5', 10.5),
        ('1e-400', 0),
        (str(2**70), 2**70),
    ],
)
def test_parse_json_returns_the_value(text: str, value: object) -> None:
    found = parse_json(text.encode())

    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    'body',
    [
        b'\xff\xfe',
        b'"\xed\xa0\x80"',
        '{}'.encode('utf-16'),
        b'\xef\xbb\xbf{}',
        b'NaN',
        b'Infinity',
        b'{"total": -Infinity}',
        b'1e400',
        b'-1e400',
        b'[1e999999]',
        b'9' * 5000,
        rb'"\ud800"',
        rb'{"\udfff": 1}',
        rb'[[{"a": ["\udc27\ud83d"]}]]',
        rb'"\u0000"',
        rb'{"a\u0000b": 1}',
        rb'{"a": {"b": ["\u0000"]}}',
        b'"\x00"',
        b'[' * 100000,
        b'[' * 100000 + b']' * 100000,
        b'{"a":' * 100000 + b'1' + b'}' * 100000,
    ],
    ids=lambda body: repr(body[:20]),
)
def test_text_that_is_no_json_or_cannot_be_stored_is_refused(body: bytes) -> None:
    with pytest.raises(errors.MalformedJSON) as raised:
        parse_json(body)

    assert raised.value.status == 400
    assert str(raised.value).startswith('Malformed JSON: ')
    assert len(str(raised.value)) < 300


# Requests


def request(version: str = microversions.NEWEST, path: str = '/', **blank: Any) -> Request:
    context = RequestContext(user_id='u', project_id='p', roles=['reader', 'member'])
    api = microversion.negotiated(microversions.APIS, f'placement {version}')
    return Request(
        webob.Request.blank(path, **blank), api, {}, context, mock.create_autospec(Service)
    )


def query(text: str, version: str = microversions.NEWEST) -> Query:
    asked = request(version, f'/resource_providers?{text}')
    return asked.validated_query('resource_providers.list')


@pytest.mark.parametrize('text', ['name=%ff', '%ff=a', 'name=%ed%a0%80', 'name=a%00b'])
def test_query_that_is_not_utf_8_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidQuery, match='Invalid query string parameters: '):
        query(text)


def test_unvalidated_returns_the_last_value_or_none() -> None:
    def look(text: str) -> str | None:
        return request(path=f'/usages?{text}').unvalidated('project_id')

    assert look('project_id=a&project_id=b') == 'b'
    assert look('') is None
    assert look('project_id=%ff') is None


def test_query_may_be_as_long_as_the_bound() -> None:
    longest = 'a' * (querystring.MAX_LENGTH - len('name='))
    assert query(f'name={longest}').last('name') == longest

    with pytest.raises(errors.InvalidQuery) as raised:
        query(f'name={longest}a')

    words = 'the query string has 65537 characters, more than 65536'
    assert str(raised.value) == f'Invalid query string parameters: {words}'
    asked = request(path=f'/usages?project_id={longest}aaaaaaaa')
    assert asked.unvalidated('project_id') is None


@pytest.mark.parametrize('groups', [querystring.MAX_GROUPS, querystring.MAX_GROUPS + 1])
def test_candidates_may_be_asked_for_in_as_many_groups_as_the_bound(
    groups: int,
) -> None:
    text = '&'.join(f'resources{number}=VCPU:1' for number in range(groups))
    asked = request(path=f'/allocation_candidates?group_policy=none&{text}')
    found = asked.validated_query('allocation_candidates.list')

    if groups == querystring.MAX_GROUPS:
        assert len(candidate_query.parse(asked.api, found).groups) == groups
        return
    with pytest.raises(errors.InvalidQuery, match='there are more than 256 request groups'):
        candidate_query.parse(asked.api, found)
