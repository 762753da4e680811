# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies for requests: valid ones of every route, and ones with one thing wrong.

Most of what a handler checks is only reached by a request that is right in all else, so a valid
request of the populated cloud is drawn first, and then at most one thing about it is altered.
"""

import copy
import dataclasses
import json
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st

from placement import microversions

from .fixtures import clouds

Draw = Callable[[st.SearchStrategy[Any]], Any]

CONSUMERS = ('dddddddd-0000-4000-8000-000000000001', 'dddddddd-0000-4000-8000-000000000002')
NOBODY = 'cccccccc-0000-4000-8000-000000000001'
PROVIDERS = tuple(clouds.uuid_of(provider.name) for provider in clouds.FLAT_WITH_SHARED_STORAGE)
AGGREGATE = clouds.uuid_of('aggA')
NEWEST = max(minor for _major, minor in microversions.APIS)

#: The generations of the hosts and shares in the populated cloud.
GENERATIONS = dict(zip(PROVIDERS, (3, 3, 1, 3, 2), strict=True))

#: Stands for a number that JSON can write and no Python value can.
HUGE_NUMBER = '@1e400@'

ODD_NUMBERS = (
    0,
    -1,
    1,
    2**31 - 1,
    2**31,
    -(2**31) - 1,
    2**32,
    2**63 - 1,
    2**63,
    -(2**63) - 1,
    2**64,
    10**400,
    1.5,
    10.0,
    -0.0,
    1e308,
    float('inf'),
    float('nan'),
    HUGE_NUMBER,
)
ODD_TEXTS = (
    '',
    ' ',
    'a' * 200,
    'a' * 201,
    'A' * 255,
    'A' * 256,
    'CUSTOM_' + 'A' * 248,
    'CUSTOM_' + 'A' * 249,
    'a' * 70000,
    '\x00',
    'a\x00b',
    '\ud800',
    'a\udfffb',
    '\U0001f40e',
    "'; DROP TABLE inventories; --",
    '%',
    '%s%n',
    '{0.__class__}',
    '../../etc/passwd',
    '<b>',
    'VCPU\n',
    'CUSTOM_A\n',
    '1',
    'true',
    'null',
    '\u202e',
    'İ',
    'ß' * 128,
    'AAAAAAAA-0000-4000-8000-000000000001',
    'aaaaaaaa000040008000000000000001',
    'urn:uuid:aaaaaaaa-0000-4000-8000-000000000001',
    '{aaaaaaaa-0000-4000-8000-000000000001}',
    'aaaaaaaa-0000-4000-8000-000000000001\n',
    '-' * 36,
    'in:',
    '!',
    '!in:',
    'in:,',
    ',',
    ':',
    'VCPU:99999999999999999999999',
    'VCPU:1_0',
    'VCPU:٣',
    'VCPU:-0',
    'CUSTOM_\x00:1',
)
ODD_VALUES: tuple[Any, ...] = (
    *ODD_NUMBERS,
    *ODD_TEXTS,
    None,
    True,
    False,
    [],
    {},
    [[]],
    {'': {}},
    [None],
)
ODD_VERSIONS = (
    '',
    'placement',
    'placement ',
    'placement 1',
    'placement 1.',
    'placement .1',
    'placement -1.1',
    'placement 1.-1',
    'placement 1.999',
    'placement 99999999999999999999.1',
    'placement 1.1.1',
    'placement latest latest',
    'placement LATEST',
    'placement 1.\xb2',
    'placement \xff',
    ',,,',
    'placement 1.1,placement pony',
    '1.10',
    'compute 2.1',
    'placement\t1.10',
    'placement 1_0.1',
    'x' * 10000,
    'placement ' + '1' * 5000 + '.1',
    'placement nan.inf',
)
ODD_HEADERS = (
    ('accept', 'text/plain'),
    ('accept', 'text/html'),
    ('accept', ';;;'),
    ('accept', '\xff'),
    ('accept', 'application/json;q=0'),
    ('accept', 'application/json;q=pony'),
    ('accept', ','),
    ('accept', 'a' * 10000),
    ('content-type', ''),
    ('content-type', 'text/plain'),
    ('content-type', 'application/json; charset=utf-16'),
    ('content-type', '\xff/\xfe'),
    ('content-type', 'application/json; charset=pony'),
    ('content-type', 'multipart/form-data'),
    ('content-length', 'pony'),
    ('content-length', '-1'),
    ('content-length', ''),
    ('content-length', '1'),
    ('content-length', '0'),
    ('content-length', '99999999999999999999'),
    ('content-length', '1.0'),
    ('content-length', '0x10'),
    ('content-length', '1_0'),
    ('content-length', '+2'),
    ('content-length', '\xb2'),
    ('x-auth-token', ''),
    ('x-auth-token', ':'),
    ('x-auth-token', '\xff'),
    ('x-auth-token', 'a:b:c'),
    ('x-auth-token', 'someone'),
    ('x-roles', ''),
    ('x-roles', ',,,'),
    ('x-roles', '\xff'),
    ('openstack-system-scope', 'pony'),
    ('x-project-id', '\xff'),
    ('x-user-id', '\x00'),
    ('x-openstack-request-id', '\xff'),
    ('x-openstack-request-id', 'req-' + 'a' * 10000),
    ('host', ''),
    ('host', '\xff'),
    ('host', 'a b'),
    ('host', 'placement.example:pony'),
    ('origin', 'null'),
    ('x-forwarded-proto', 'pony'),
    ('transfer-encoding', 'chunked'),
    ('expect', '100-continue'),
    ('if-modified-since', 'pony'),
    ('range', 'bytes=0-1'),
    ('x-http-method-override', 'DELETE'),
    ('cookie', '\xff'),
    ('authorization', 'Basic \xff'),
)
ODD_METHODS = ('HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'DELETE', 'GET', 'TRACE', 'PONY', 'get')
ODD_BYTES = (
    b'',
    b'{',
    b'}',
    b'[',
    b'"',
    b'null',
    b'true',
    b'7',
    b'""',
    b'[]',
    b'{}',
    b'\x00',
    b'\xff',
    b'\xef\xbb\xbf{}',
    b'{"a": \xff}',
    b'{"a"}',
    b'{"a": 1,}',
    b'{a: 1}',
    b"{'a': 1}",
    b'NaN',
    b'-Infinity',
    b'1e400',
    b'\xed\xa0\x80',
    '{"name": "a"}'.encode('utf-16'),
    b'{"a": "\x01"}',
    b'{"a": "\\ud800"}',
    b'{"a": "\\u0000"}',
    b'{"\\ud800": 1}',
    b'9' * 5000,
    b'[[[[[[[[[[]',
    b'{"name": "a"} trailing',
    b'/* */ {}',
    b'{"a": .5}',
    b'{"a": 01}',
    b'{"a": +1}',
)
ODD_QUERIES = (
    '%',
    '%00',
    '%ff',
    'name=%ff',
    'name=%00',
    '%ff=1',
    '%00=1',
    '=',
    '&',
    '&&&',
    'name',
    'name=&=',
    'a;b',
    '\xe9',
    'name=\xe9',
    'name=' + 'a' * 70000,
    'name=%ed%a0%80',
    'name=a%0d%0ab',
    'resources=VCPU:1;resources=VCPU:2',
    'limit=9' + '9' * 400,
    'limit=9' + '9' * 5000,
    'limit=0&limit=1',
    '%2',
    'limit=pony&limit=1',
    'group_policy=pony&group_policy=none',
    'resources=VCPU:' + '9' * 5000,
)
ODD_SEGMENTS = (
    *(text for text in ODD_TEXTS if text),
    '%ff',
    '%2F',
    '.',
    '..',
    '%00',
    '%',
    '%ED%A0%80',
)


@dataclasses.dataclass
class Call:
    """A request before it is written down."""

    method: str
    segments: list[str]
    version: int
    body: Any = None
    query: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    headers: dict[str, str | None] = dataclasses.field(default_factory=dict)
    raw_body: bytes | None = None
    raw_query: str | None = None

    @property
    def path(self) -> str:
        """The path as it is sent, with its query."""
        path = ''.join('/' + quoted(segment) for segment in self.segments)
        query = '&'.join(f'{quoted(name)}={quoted(value)}' for name, value in self.query)
        if self.raw_query is not None:
            query = self.raw_query
        return f'{path}?{query}' if query else path

    @property
    def content(self) -> bytes | None:
        """The body as it is sent."""
        if self.raw_body is not None or self.body is None:
            return self.raw_body
        return json.dumps(self.body).replace(f'"{HUGE_NUMBER}"', '1e400').encode()


def quoted(text: str) -> str:
    """The text for a URL; what looks quoted already stays as it is."""
    return urllib.parse.quote(text, safe='%:!,', errors='surrogatepass')


# Valid requests ------------------------------------------------------------------------------


def _provider(draw: Draw) -> str:
    return str(draw(st.sampled_from(PROVIDERS)))


def _inventory(draw: Draw) -> dict[str, Any]:
    record = {'total': draw(st.integers(1, 5000))}
    for member in ('reserved', 'min_unit', 'max_unit', 'step_size'):
        if draw(st.booleans()):
            record[member] = draw(st.integers(1, 10))
    if draw(st.booleans()):
        record['allocation_ratio'] = draw(st.sampled_from((1.0, 1.5, 16.0)))
    return record


def _generation(draw: Draw, provider: str) -> int:
    right = GENERATIONS[provider]
    return int(draw(st.sampled_from((right, right, right, right + 1))))


def _inventories(draw: Draw, version: int, provider: str) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(('VCPU', 'MEMORY_MB', 'DISK_GB')), unique=True))
    return {
        'resource_provider_generation': _generation(draw, provider),
        'inventories': {name: _inventory(draw) for name in names},
    }


def _resources(draw: Draw) -> dict[str, int]:
    name = draw(st.sampled_from(('VCPU', 'MEMORY_MB', 'DISK_GB')))
    return {name: draw(st.integers(1, 9))}


def _consumer(draw: Draw, version: int, name: str, may_be_empty: bool) -> dict[str, Any]:
    providers = draw(st.lists(st.sampled_from(PROVIDERS), min_size=not may_be_empty, max_size=2))
    body: dict[str, Any] = {
        'allocations': {provider: {'resources': _resources(draw)} for provider in providers},
        'project_id': 'p',
        'user_id': 'u',
    }
    if version >= 28:
        body['consumer_generation'] = 1 if name in CONSUMERS else None
    if version >= 34 and draw(st.booleans()):
        body['mappings'] = {'_A': [draw(st.sampled_from(PROVIDERS))]}
    if version >= 38:
        body['consumer_type'] = draw(st.sampled_from(('INSTANCE', 'MIGRATION')))
    return body


def _put_allocations(draw: Draw, version: int, name: str) -> Any:
    body = _consumer(draw, version, name, may_be_empty=version >= 28)
    if version < 12:
        body['allocations'] = [
            {'resource_provider': {'uuid': provider}, 'resources': allocation['resources']}
            for provider, allocation in body['allocations'].items()
        ]
    if version < 8:
        del body['project_id'], body['user_id']
    return body


def _post_allocations(draw: Draw, version: int, name: str) -> Any:
    names = draw(st.lists(st.sampled_from((*CONSUMERS, NOBODY)), min_size=1, unique=True))
    return {each: _consumer(draw, version, each, may_be_empty=True) for each in names}


def _reshape(draw: Draw, version: int, name: str) -> Any:
    names = draw(st.lists(st.sampled_from(CONSUMERS), unique=True))
    provider = _provider(draw)
    return {
        'inventories': {provider: _inventories(draw, version, provider)},
        'allocations': {each: _consumer(draw, version, each, may_be_empty=True) for each in names},
    }


def _new_provider(draw: Draw, version: int, name: str) -> Any:
    body = {'name': f'host {draw(st.integers(0, 10**9))}'}
    if draw(st.booleans()):
        body['uuid'] = str(draw(st.uuids()))
    if version >= 14 and draw(st.booleans()):
        body['parent_provider_uuid'] = _provider(draw)
    return body


def _changed_provider(draw: Draw, version: int, name: str) -> Any:
    body: dict[str, Any] = {'name': f'host {draw(st.integers(0, 10**9))}'}
    if version >= 14 and draw(st.booleans()):
        body['parent_provider_uuid'] = draw(st.sampled_from((None, *PROVIDERS)))
    return body


def _aggregates(draw: Draw, version: int, provider: str) -> Any:
    uuids = draw(st.lists(st.sampled_from((AGGREGATE, NOBODY)), unique=True))
    if version < 19:
        return uuids
    return {'aggregates': uuids, 'resource_provider_generation': _generation(draw, provider)}


def _traits(draw: Draw, version: int, provider: str) -> Any:
    names = draw(st.lists(st.sampled_from(('CUSTOM_SSD', 'HW_CPU_X86_AVX')), unique=True))
    return {'traits': names, 'resource_provider_generation': _generation(draw, provider)}


def _list_query(draw: Draw, version: int) -> list[tuple[str, str]]:
    choices = [('name', 'cn1'), ('uuid', PROVIDERS[0])]
    if version >= 3:
        choices += [('member_of', AGGREGATE), ('member_of', f'in:{AGGREGATE},{NOBODY}')]
    if version >= 4:
        choices += [('resources', 'VCPU:1,MEMORY_MB:2')]
    if version >= 14:
        choices += [('in_tree', PROVIDERS[1])]
    if version >= 18:
        choices += [('required', 'CUSTOM_SSD')]
    if version >= 39:
        choices += [('required', 'in:CUSTOM_SSD,HW_CPU_X86_AVX')]
    return list(draw(st.lists(st.sampled_from(choices), unique_by=lambda choice: choice[0])))


def _usages_query(draw: Draw, version: int) -> list[tuple[str, str]]:
    query = [('project_id', 'p')]
    if draw(st.booleans()):
        query.append(('user_id', 'u'))
    if version >= 38 and draw(st.booleans()):
        query.append(('consumer_type', draw(st.sampled_from(('INSTANCE', 'all', 'unknown')))))
    return query


def _traits_query(draw: Draw, version: int) -> list[tuple[str, str]]:
    choices = [('name', 'in:CUSTOM_SSD'), ('name', 'startswith:CUSTOM_'), ('associated', 'true')]
    return list(draw(st.lists(st.sampled_from(choices), unique_by=lambda choice: choice[0])))


def _candidates_query(draw: Draw, version: int) -> list[tuple[str, str]]:
    choices = []
    if version >= 16:
        choices += [('limit', '3')]
    if version >= 17:
        choices += [('required', 'CUSTOM_SSD')]
    if version >= 21:
        choices += [('member_of', f'in:{AGGREGATE}')]
    if version >= 25:
        choices += [
            ('resources1', 'DISK_GB:1'),
            ('required1', 'CUSTOM_SSD'),
            ('group_policy', 'none'),
        ]
    if version >= 31:
        choices += [('in_tree', PROVIDERS[1])]
    if version >= 35:
        choices += [('root_required', '!CUSTOM_SSD')]
    if version >= 36:
        choices += [('same_subtree', '1')]
    chosen = draw(st.lists(st.sampled_from(choices), unique=True)) if choices else []
    return [('resources', 'VCPU:1,DISK_GB:2'), *chosen]


BodyMaker = Callable[[Draw, int, str], Any]
QueryMaker = Callable[[Draw, int], list[tuple[str, str]]]


@dataclasses.dataclass(frozen=True)
class Route:
    """How to write a valid request to one route; ``{}`` in its path is drawn from ``names``."""

    method: str
    path: str
    since: int = 0
    names: tuple[str, ...] = PROVIDERS
    body: BodyMaker | None = None
    query: QueryMaker | None = None
    until: int = NEWEST


RP = '/resource_providers/{}'
TRAITS = ('CUSTOM_SSD', 'HW_CPU_X86_AVX', 'CUSTOM_NEW', 'CUSTOM_UNUSED')
CLASSES = ('VCPU', 'CUSTOM_IRON', 'CUSTOM_NEW')

ROUTES: Mapping[str, Route] = {
    'root': Route('GET', '/'),
    'list providers': Route('GET', '/resource_providers', query=_list_query),
    'create provider': Route('POST', '/resource_providers', body=_new_provider),
    'show provider': Route('GET', RP),
    'change provider': Route('PUT', RP, body=_changed_provider),
    'delete provider': Route('DELETE', RP),
    'list inventories': Route('GET', RP + '/inventories'),
    'set inventories': Route('PUT', RP + '/inventories', body=_inventories),
    'add inventory': Route(
        'POST',
        RP + '/inventories',
        body=lambda d, v, name: {
            **_inventory(d),
            'resource_class': d(st.sampled_from(('DISK_GB', 'CUSTOM_IRON'))),
        },
    ),
    'clear inventories': Route('DELETE', RP + '/inventories', since=5),
    'show inventory': Route('GET', RP + '/inventories/VCPU'),
    'set inventory': Route(
        'PUT',
        RP + '/inventories/VCPU',
        body=lambda d, v, name: {
            **_inventory(d),
            'resource_provider_generation': _generation(d, name),
        },
    ),
    'delete inventory': Route('DELETE', RP + '/inventories/DISK_GB'),
    'usages of provider': Route('GET', RP + '/usages'),
    'list aggregates': Route('GET', RP + '/aggregates', since=1),
    'set aggregates': Route('PUT', RP + '/aggregates', since=1, body=_aggregates),
    'list traits of provider': Route('GET', RP + '/traits', since=6),
    'set traits of provider': Route('PUT', RP + '/traits', since=6, body=_traits),
    'clear traits of provider': Route('DELETE', RP + '/traits', since=6),
    'allocations of provider': Route('GET', RP + '/allocations'),
    'list classes': Route('GET', '/resource_classes', since=2),
    'create class': Route(
        'POST',
        '/resource_classes',
        since=2,
        body=lambda d, v, name: {'name': f'CUSTOM_{d(st.integers(0, 10**6))}'},
    ),
    'show class': Route('GET', '/resource_classes/{}', since=2, names=CLASSES),
    'rename class': Route(
        'PUT',
        '/resource_classes/{}',
        since=2,
        until=6,
        names=CLASSES,
        body=lambda d, v, name: {'name': f'CUSTOM_{d(st.integers(0, 10**6))}'},
    ),
    'ensure class': Route('PUT', '/resource_classes/{}', since=7, names=CLASSES),
    'delete class': Route('DELETE', '/resource_classes/{}', since=2, names=CLASSES),
    'list traits': Route('GET', '/traits', since=6, query=_traits_query),
    'show trait': Route('GET', '/traits/{}', since=6, names=TRAITS),
    'ensure trait': Route('PUT', '/traits/{}', since=6, names=TRAITS),
    'delete trait': Route('DELETE', '/traits/{}', since=6, names=TRAITS),
    'show allocations': Route('GET', '/allocations/{}', names=CONSUMERS),
    'set allocations': Route(
        'PUT', '/allocations/{}', names=(*CONSUMERS, NOBODY), body=_put_allocations
    ),
    'delete allocations': Route('DELETE', '/allocations/{}', names=CONSUMERS),
    'set many allocations': Route('POST', '/allocations', since=13, body=_post_allocations),
    'usages of project': Route('GET', '/usages', since=9, query=_usages_query),
    'reshape': Route('POST', '/reshaper', since=30, body=_reshape),
    'candidates': Route('GET', '/allocation_candidates', since=10, query=_candidates_query),
}


def valid_call(draw: Draw, route: Route) -> Call:
    """A request that the route accepts, as far as one can know without its generations."""
    version = draw(st.integers(route.since, route.until))
    name = draw(st.sampled_from(route.names))
    return Call(
        route.method,
        route.path.format(name).strip('/').split('/'),
        version,
        body=route.body(draw, version, name) if route.body else None,
        query=route.query(draw, version) if route.query else [],
    )


# One thing wrong -----------------------------------------------------------------------------


def _places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to every value within a body, the body itself first."""
    found = [place]
    keys = value if isinstance(value, dict) else ()
    for key in range(len(value)) if isinstance(value, list) else keys:
        found += _places(value[key], (*place, key))
    return found


def _replaced(value: Any, place: tuple[Any, ...], replacement: Any) -> Any:
    if not place:
        return replacement
    value = copy.copy(value)
    value[place[0]] = _replaced(value[place[0]], place[1:], replacement)
    return value


def _at(value: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        value = value[key]
    return value


def _odd_value(draw: Draw, call: Call) -> None:
    if call.body is None:
        _odd_bytes(draw, call)
        return
    place = draw(st.sampled_from(_places(call.body)))
    call.body = _replaced(call.body, place, draw(st.sampled_from(ODD_VALUES)))


def _odd_member(draw: Draw, call: Call) -> None:
    places = [place for place in _places(call.body) if isinstance(_at(call.body, place), dict)]
    if not places:
        _odd_bytes(draw, call)
        return
    place = draw(st.sampled_from(places))
    members = dict(_at(call.body, place))
    name = draw(st.sampled_from((*ODD_TEXTS, *members)))
    if name in members:
        value = members.pop(name)
        if draw(st.booleans()):
            members[draw(st.sampled_from(ODD_TEXTS))] = value
    else:
        members[name] = draw(st.sampled_from((*ODD_VALUES, *members.values())))
    call.body = _replaced(call.body, place, members)


def _odd_bytes(draw: Draw, call: Call) -> None:
    call.raw_body = draw(st.sampled_from(ODD_BYTES) | st.binary(max_size=40))


def _odd_text(draw: Draw, call: Call) -> None:
    content = call.content or b'{}'
    where = draw(st.integers(0, len(content)))
    choice = draw(st.integers(0, 3))
    if choice == 0:
        call.raw_body = content[:where]
    elif choice == 1:
        call.raw_body = content[:where] + draw(st.binary(max_size=3)) + content[where:]
    elif choice == 2:  # the same key twice
        call.raw_body = content.replace(b'{', b'{"name": 7, "total": "x", "allocations": 3, ', 1)
    else:
        call.raw_body = content + content


def _odd_segment(draw: Draw, call: Call) -> None:
    where = draw(st.integers(0, len(call.segments) - 1))
    call.segments[where] = draw(st.sampled_from(ODD_SEGMENTS))


def _odd_query_value(draw: Draw, call: Call) -> None:
    if not call.query:
        _odd_query(draw, call)
        return
    where = draw(st.integers(0, len(call.query) - 1))
    name, value = call.query[where]
    odd = draw(st.sampled_from(ODD_TEXTS))
    joined = (odd, value + odd, odd + value, f'{value},{odd}', value[:-1])
    choices = (*joined, f'in:{odd}', f'!{value}')
    call.query[where] = (name, draw(st.sampled_from(choices)))


def _odd_query_name(draw: Draw, call: Call) -> None:
    name = draw(
        st.sampled_from(
            (
                *ODD_TEXTS,
                'resources',
                'required',
                'member_of',
                'in_tree',
                'resources' + 'x' * 65,
                'required_\x00',
                'limit',
                'uuid',
            )
        )
    )
    call.query.append((name, draw(st.sampled_from((*ODD_TEXTS, '1', 'VCPU:1')))))


def _odd_query(draw: Draw, call: Call) -> None:
    valid = call.path.partition('?')[2]
    odd = draw(st.sampled_from(ODD_QUERIES))
    call.raw_query = draw(st.sampled_from((odd, f'{valid}&{odd}', f'{odd}&{valid}')))


def _odd_version(draw: Draw, call: Call) -> None:
    call.headers['openstack-api-version'] = draw(st.sampled_from(ODD_VERSIONS))


def _odd_header(draw: Draw, call: Call) -> None:
    name, value = draw(st.sampled_from(ODD_HEADERS))
    call.headers[name] = value


def _odd_method(draw: Draw, call: Call) -> None:
    call.method = draw(st.sampled_from(ODD_METHODS))


def _other_version(draw: Draw, call: Call) -> None:
    call.version = draw(st.integers(0, NEWEST))


def _nothing(draw: Draw, call: Call) -> None:
    """A valid request stays as it is."""


_ANYWHERE = (
    _nothing,
    _nothing,
    _nothing,
    _odd_segment,
    _odd_query_value,
    _odd_query_name,
    _odd_query,
    _odd_version,
    _odd_header,
    _odd_method,
    _other_version,
)
_IN_BODY = (
    _odd_value,
    _odd_value,
    _odd_value,
    _odd_value,
    _odd_member,
    _odd_member,
    _odd_bytes,
    _odd_text,
)


@st.composite
def calls(draw: Draw, route: Route) -> Call:
    """A request to the route with at most one thing wrong."""
    call = valid_call(draw, route)
    if route.query:
        alterations: tuple[Any, ...] = (*_ANYWHERE, _odd_query_value, _odd_query_value)
    else:
        alterations = (*_ANYWHERE, *(_IN_BODY if route.body else (_odd_bytes,)))
    draw(st.sampled_from(alterations))(draw, call)
    return call
