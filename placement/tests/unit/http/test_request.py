# SPDX-License-Identifier: Apache-2.0
"""What a request brings (specification: http, "Request content")."""

import json
from typing import Any

import pytest
import webob

from placement import errors, history
from placement.conf import ConfigOpts
from placement.context import RequestContext
from placement.http import candidate_query, microversion, querystring
from placement.http import request as request_module
from placement.http.request import Query, Request, parse_json
from placement.policy import Enforcer
from placement.schemas.not_sent import NOT_SENT
from placement.search.model.request import CandidateRequest

UUID = 'b7a09e9a-5a8c-4e1d-9c0b-5f6f1d4ad9a1'


# JSON


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        ('{"a": [1, "b", null, true]}', {'a': [1, 'b', None, True]}),
        ('"Grüße ☃ \U0001f427"', 'Grüße ☃ \U0001f427'),
        (r'"\ud83d\udc27"', '\U0001f427'),
        (r'"\\u0000"', r'\u0000'),
        ('{"a": 1, "a": 2}', {'a': 2}),
        ('10.0', 10),
        ('-10.0', -10),
        ('1e3', 1000),
        ('10.5', 10.5),
        ('1e-400', 0),
        (str(2**70), 2**70),
    ],
)
def test_parse_json_returns_the_value(text: str, value: object) -> None:
    assert parse_json(text.encode()) == value


@pytest.mark.parametrize('text', ['10.0', '1e3', '-0.0', '{"total": 10.0}'])
def test_parse_json_converts_a_whole_float_to_an_integer(text: str) -> None:
    value = parse_json(text.encode())

    assert type(value['total'] if isinstance(value, dict) else value) is int


def test_float_beyond_exact_integers_stays_a_float() -> None:
    assert type(parse_json(b'1e30')) is float


@pytest.mark.parametrize(
    'body',
    [
        b'',
        b' ',
        b'{',
        b'{"a": }',
        b"{'a': 1}",
        b'[1,]',
        b'nope',
        b'{} {}',
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


def request(
    conf: ConfigOpts, version: str = history.NEWEST, path: str = '/', **blank: Any
) -> Request:
    context = RequestContext(user_id='u', project_id='p', roles=['reader', 'member'])
    api = microversion.negotiated(history.APIS, f'placement {version}')
    return Request(webob.Request.blank(path, **blank), api, {}, context, Enforcer(conf), conf)


@pytest.mark.parametrize(
    ('accept', 'expected'),
    [
        (None, True),
        ('*/*', True),
        ('application/json', True),
        ('application/*', True),
        ('text/html, application/json;q=0.1', True),
        ('text/html, */*;q=0.1', True),
        ('text/plain', False),
        ('application/json;q=0', False),
        ('application/json;q=0, */*', False),
        ('application/xml', False),
    ],
)
def test_request_that_does_not_accept_json_is_406(
    conf: ConfigOpts, accept: str | None, expected: bool
) -> None:
    asked = request(conf, headers={} if accept is None else {'Accept': accept})

    if expected:
        asked.check_accepts_json()
        return
    with pytest.raises(errors.NotAcceptable, match='Only application/json is provided'):
        asked.check_accepts_json()


@pytest.mark.parametrize(
    'media_type',
    ['application/json', 'application/json; charset=utf-8', 'application/json;charset=latin-1'],
)
def test_body_must_have_the_media_type_json(conf: ConfigOpts, media_type: str) -> None:
    request(conf, headers={'Content-Type': media_type}).check_sends_json()


@pytest.mark.parametrize(
    ('media_type', 'shown'),
    [
        (None, 'None'),
        ('text/plain', 'text/plain'),
        ('Application/JSON', 'Application/JSON'),
        ('application/jsonx', 'application/jsonx'),
    ],
)
def test_refusal_names_the_media_type(
    conf: ConfigOpts, media_type: str | None, shown: str
) -> None:
    headers = {} if media_type is None else {'Content-Type': media_type}

    with pytest.raises(errors.UnsupportedMediaType) as raised:
        request(conf, headers=headers).check_sends_json()

    assert str(raised.value) == (f'The media type {shown} is not supported, use application/json')


def test_body_is_validated_by_its_version_and_upgraded(conf: ConfigOpts) -> None:
    old = request(conf, '1.18', body=json.dumps([UUID]).encode())
    new = {'aggregates': [UUID], 'resource_provider_generation': 3}

    assert old.validated_body('aggregates.set') == {
        'aggregates': [UUID],
        'resource_provider_generation': NOT_SENT,
    }
    body = json.dumps(new).encode()
    assert request(conf, '1.19', body=body).validated_body('aggregates.set') == new
    with pytest.raises(errors.InvalidBody) as raised:
        request(conf, '1.18', body=body).validated_body('aggregates.set')
    assert str(raised.value).startswith('JSON does not validate: ')
    assert "is not of type 'array'" in str(raised.value)


def query(conf: ConfigOpts, text: str, version: str = history.NEWEST) -> Query:
    asked = request(conf, version, f'/resource_providers?{text}')
    return asked.validated_query('resource_providers.list')


def test_query_returns_the_last_value_of_a_repeated_parameter(conf: ConfigOpts) -> None:
    found = query(conf, 'name=a&name=b')

    assert found.last('name') == 'b'
    assert found.all('name') == ['a', 'b']
    assert list(found) == [('name', 'a'), ('name', 'b')]
    assert 'name' in found
    assert 'uuid' not in found
    assert (found.last('uuid'), found.all('uuid')) == (None, [])


def test_schema_checks_the_last_value_of_a_repeated_parameter(conf: ConfigOpts) -> None:
    assert query(conf, f'uuid=foo&uuid={UUID}').last('uuid') == UUID
    with pytest.raises(errors.InvalidQuery):
        query(conf, f'uuid={UUID}&uuid=foo')


def test_refusal_names_an_unknown_parameter(conf: ConfigOpts) -> None:
    with pytest.raises(errors.InvalidQuery) as raised:
        query(conf, 'in_tree=x', '1.13')

    assert str(raised.value).startswith(
        'Invalid query string parameters: Additional properties are not allowed '
        "('in_tree' was unexpected)"
    )


@pytest.mark.parametrize('text', ['name=%ff', '%ff=a', 'name=%ed%a0%80', 'name=a%00b'])
def test_query_that_is_not_utf_8_is_refused(conf: ConfigOpts, text: str) -> None:
    with pytest.raises(errors.InvalidQuery, match='Invalid query string parameters: '):
        query(conf, text)


def test_unvalidated_returns_the_last_value_or_none(conf: ConfigOpts) -> None:
    def look(text: str) -> str | None:
        return request(conf, path=f'/usages?{text}').unvalidated('project_id')

    assert look('project_id=a&project_id=b') == 'b'
    assert look('') is None
    assert look('project_id=%ff') is None


# Authorisation


def test_refusal_of_the_policy_names_the_rule(conf: ConfigOpts) -> None:
    with pytest.raises(errors.PolicyNotAuthorised, match='placement:reshaper:reshape'):
        request(conf).authorise('placement:reshaper:reshape')


def test_reader_is_authorised_for_its_own_project_only(conf: ConfigOpts) -> None:
    asked = request(conf)

    asked.authorise_for_project('placement:usages', 'p')
    for project_id in ('q', None):
        with pytest.raises(errors.PolicyNotAuthorised):
            asked.authorise_for_project('placement:usages', project_id)


def test_request_has_the_mount_point(conf: ConfigOpts) -> None:
    asked = request(conf)
    asked.http.environ['SCRIPT_NAME'] = '/placement'

    assert asked.mount_point == '/placement'


def test_query_may_be_as_long_as_the_bound(conf: ConfigOpts) -> None:
    longest = 'a' * (querystring.MAX_LENGTH - len('name='))
    assert query(conf, f'name={longest}').last('name') == longest

    with pytest.raises(errors.InvalidQuery) as raised:
        query(conf, f'name={longest}a')

    words = 'the query string has 65537 characters, more than 65536'
    assert str(raised.value) == f'Invalid query string parameters: {words}'
    asked = request(conf, path=f'/usages?project_id={longest}aaaaaaaa')
    assert asked.unvalidated('project_id') is None


def test_query_that_was_read_before_is_not_read_again(conf: ConfigOpts) -> None:
    def read(text: str, version: str = history.NEWEST) -> CandidateRequest:
        asked = request(conf, version, f'/allocation_candidates?{text}')
        return asked.read_query('allocation_candidates.list', candidate_query.parse)

    text = 'resources=VCPU:1&required=CUSTOM_A'
    assert read(text) is read(text)
    assert read(text) is not read(text, '1.30')
    assert read('resources=VCPU:2') != read('resources=VCPU:3')
    for _ in range(2):
        with pytest.raises(errors.InvalidQuery):
            read(f'{text}&member_of=x')
        with pytest.raises(errors.BadRequest):
            read('resources=VCPU:none')
    # Long ones would fill the memory.
    long = f'{text},{"A" * request_module.MAX_REMEMBERED_LENGTH}'
    assert read(long) == read(long)
    assert read(long) is not read(long)


@pytest.mark.parametrize('groups', [querystring.MAX_GROUPS, querystring.MAX_GROUPS + 1])
def test_candidates_may_be_asked_for_in_as_many_groups_as_the_bound(
    conf: ConfigOpts, groups: int
) -> None:
    text = '&'.join(f'resources{number}=VCPU:1' for number in range(groups))
    asked = request(conf, path=f'/allocation_candidates?group_policy=none&{text}')
    found = asked.validated_query('allocation_candidates.list')

    if groups == querystring.MAX_GROUPS:
        assert len(candidate_query.parse(asked.api, found).groups) == groups
        return
    with pytest.raises(errors.InvalidQuery, match='there are more than 256 request groups'):
        candidate_query.parse(asked.api, found)
