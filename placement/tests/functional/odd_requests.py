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

from placement import routes

from .fixtures import valid_requests
from .fixtures.valid_requests import NEWEST

Draw = Callable[[st.SearchStrategy[Any]], Any]

#: Stands for a number that JSON can write and no Python value can.
HUGE_NUMBER = '@1e400@'

ODD_NUMBERS = (
    0, -1, 1, 2**31 - 1, 2**31, -(2**31) - 1, 2**32, 2**63 - 1, 2**63, -(2**63) - 1, 2**64,
    10**400, 1.5, 10.0, -0.0, 1e308, float('inf'), float('nan'), HUGE_NUMBER,
)  # fmt: skip
ODD_TEXTS = (
    '', ' ', 'a' * 200, 'a' * 201, 'A' * 255, 'A' * 256, 'CUSTOM_' + 'A' * 248,
    'CUSTOM_' + 'A' * 249, 'a' * 70000, '\x00', 'a\x00b', '\ud800', 'a\udfffb', '\U0001f40e',
    "'; DROP TABLE inventories; --", '%', '%s%n', '{0.__class__}', '../../etc/passwd', '<b>',
    'VCPU\n', 'CUSTOM_A\n', '1', 'true', 'null', '\u202e', 'İ', 'ß' * 128,
    'AAAAAAAA-0000-4000-8000-000000000001', 'aaaaaaaa000040008000000000000001',
    'urn:uuid:aaaaaaaa-0000-4000-8000-000000000001', '{aaaaaaaa-0000-4000-8000-000000000001}',
    'aaaaaaaa-0000-4000-8000-000000000001\n', '-' * 36, 'in:', '!', '!in:', 'in:,', ',', ':',
    'VCPU:99999999999999999999999', 'VCPU:1_0', 'VCPU:٣', 'VCPU:-0', 'CUSTOM_\x00:1',
)  # fmt: skip
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
    '', 'placement', 'placement ', 'placement 1', 'placement 1.', 'placement .1', 'placement -1.1',
    'placement 1.-1', 'placement 1.999', 'placement 99999999999999999999.1', 'placement 1.1.1',
    'placement latest latest', 'placement LATEST', 'placement 1.\xb2', 'placement \xff', ',,,',
    'placement 1.1,placement pony', '1.10', 'compute 2.1', 'placement\t1.10', 'placement 1_0.1',
    'x' * 10000, 'placement ' + '1' * 5000 + '.1', 'placement nan.inf',
)  # fmt: skip
ODD_HEADERS = {
    'accept': ['text/plain', 'text/html', ';;;', '\xff', 'application/json;q=0',
        'application/json;q=pony', ',', 'a' * 10000],
    'content-type': ['', 'text/plain', 'application/json; charset=utf-16', '\xff/\xfe',
        'application/json; charset=pony', 'multipart/form-data'],
    'content-length': ['pony', '-1', '', '1', '0', '99999999999999999999', '1.0', '0x10', '1_0',
        '+2', '\xb2'],
    'x-auth-token': ['', ':', '\xff', 'a:b:c', 'someone'],
    'x-roles': ['', ',,,', '\xff'],
    'openstack-system-scope': ['pony'],
    'x-project-id': ['\xff'],
    'x-user-id': ['\x00'],
    'x-openstack-request-id': ['\xff', 'req-' + 'a' * 10000],
    'host': ['', '\xff', 'a b', 'placement.example:pony'],
    'origin': ['null'],
    'x-forwarded-proto': ['pony'],
    'transfer-encoding': ['chunked'],
    'expect': ['100-continue'],
    'if-modified-since': ['pony'],
    'range': ['bytes=0-1'],
    'x-http-method-override': ['DELETE'],
    'cookie': ['\xff'],
    'authorization': ['Basic \xff'],
}  # fmt: skip
ODD_METHODS = ('HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'DELETE', 'GET', 'TRACE', 'PONY', 'get')
ODD_BYTES = (
    b'', b'{', b'}', b'[', b'"', b'null', b'true', b'7', b'""', b'[]', b'{}', b'\x00', b'\xff',
    b'\xef\xbb\xbf{}', b'{"a": \xff}', b'{"a"}', b'{"a": 1,}', b'{a: 1}', b"{'a': 1}", b'NaN',
    b'-Infinity', b'1e400', b'\xed\xa0\x80', '{"name": "a"}'.encode('utf-16'), b'{"a": "\x01"}',
    b'{"a": "\\ud800"}', b'{"a": "\\u0000"}', b'{"\\ud800": 1}', b'9' * 5000, b'[[[[[[[[[[]',
    b'{"name": "a"} trailing', b'/* */ {}', b'{"a": .5}', b'{"a": 01}', b'{"a": +1}',
)  # fmt: skip
ODD_QUERIES = (
    '%', '%00', '%ff', 'name=%ff', 'name=%00', '%ff=1', '%00=1', '=', '&', '&&&', 'name',
    'name=&=', 'a;b', '\xe9', 'name=\xe9', 'name=' + 'a' * 70000, 'name=%ed%a0%80',
    'name=a%0d%0ab', 'resources=VCPU:1;resources=VCPU:2', 'limit=9' + '9' * 400,
    'limit=9' + '9' * 5000, 'limit=0&limit=1', '%2', 'limit=pony&limit=1',
    'group_policy=pony&group_policy=none', 'resources=VCPU:' + '9' * 5000,
)  # fmt: skip
ODD_SEGMENTS = (
    *(text for text in ODD_TEXTS if text), '%ff', '%2F', '.', '..', '%00', '%', '%ED%A0%80',
)  # fmt: skip


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


#: The routes of the API, by action.
ROUTES: Mapping[str, routes.Route] = {route.action: route for route in routes.ROUTES}


def valid_call(draw: Draw, route: routes.Route) -> Call:
    """Draw a request that the route accepts, as far as its generations allow."""
    version = draw(st.sampled_from(valid_requests.versions(route.action)))
    names = {
        variable: draw(st.sampled_from(values))
        for variable, values in valid_requests.names(route.path).items()
    }
    first = next(iter(names.values()), '')
    make = valid_requests.BODIES.get(route.action)
    return Call(
        route.method,
        route.path.format(**names).strip('/').split('/'),
        version,
        body=make(version, first) if make else None,
        query=[
            (name, value)
            for name, value, since, is_required in valid_requests.QUERIES.get(route.action, ())
            if version >= since and (is_required or draw(st.booleans()))
        ],
    )


# One thing wrong


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
    name = draw(st.sampled_from([*ODD_HEADERS]))
    call.headers[name] = draw(st.sampled_from(ODD_HEADERS[name]))


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
def calls(draw: Draw, route: routes.Route) -> Call:
    """A request to the route with at most one thing wrong."""
    call = valid_call(draw, route)
    if call.query:
        alterations: tuple[Any, ...] = (*_ANYWHERE, _odd_query_value, _odd_query_value)
    else:
        alterations = (*_ANYWHERE, *((_odd_bytes,) if call.body is None else _IN_BODY))
    draw(st.sampled_from(alterations))(draw, call)
    return call
