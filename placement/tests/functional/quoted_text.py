# SPDX-License-Identifier: Apache-2.0
"""Texts that are slow to read, to quote or to refuse, and the places of a request for them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

import webob

from placement.microversions import NEWEST

FORMATS = ('application/json', 'text/html', 'text/plain')
REPEATED = (
    '<', '>', '&', '<!--', '-->', '<br', '<br>', '<b>', '<br<!--&-->', '<>', '"', "'", '\\', '%',
    '%3C', ' ', '\t', ',', ':', ';', '!', '0', '9', 'a', 'A_', 'a ', '\xff', 'in:', '1.', 'a/b,',
    'a/b;q=0,', ';a=b', ';a="b"', 'placement ', 'placement 1.1,', '{', '[', '/', '$', '${x}',
)  # fmt: skip

Environ = dict[str, Any]
Place = Callable[[Environ, str], None]


def texts(size: int) -> Iterator[tuple[str, str]]:
    """Texts of this many characters, by name."""
    for piece in REPEATED:
        yield f'{piece!r}', (piece * size)[:size]
    for first, last in (('<', '-->'), ('<', '>'), ('<br', '-->'), ('<!--', '>'), ('<', '<br>')):
        yield f'{first!r}, then {last!r}', (first * size)[: size - len(last)] + last


def _header(name: str, before: str = '') -> Place:
    def put(environ: Environ, text: str) -> None:
        environ[name] = before + text

    return put


def _path(before: str, method: str = 'GET', after: str = '') -> Place:
    def put(environ: Environ, text: str) -> None:
        environ.update(PATH_INFO=before + text + after, REQUEST_METHOD=method)

    return put


def _query(path: str, before: str, after: str = '') -> Place:
    def put(environ: Environ, text: str) -> None:
        sent = quote(text, safe='<>&!,:;$\'"{}[]/', encoding='latin-1')
        environ.update(PATH_INFO=path, QUERY_STRING=before + sent[: len(text)] + after)

    return put


def _body(method: str, path: str, make: Callable[[str], object]) -> Place:
    def put(environ: Environ, text: str) -> None:
        made = make(text)
        body = made.encode() if isinstance(made, str) else json.dumps(made).encode()
        environ.update(
            {
                'REQUEST_METHOD': method,
                'PATH_INFO': path,
                'CONTENT_TYPE': 'application/json',
                'CONTENT_LENGTH': str(len(body)),
                'wsgi.input': io.BytesIO(body),
            }
        )

    return put


def _both(*places: Place) -> Place:
    def put(environ: Environ, text: str) -> None:
        for place in places:
            place(environ, text)

    return put


UUID = '11111111-1111-1111-1111-111111111111'
PROVIDERS, CANDIDATES = '/resource_providers', '/allocation_candidates'
PLACES: Mapping[str, Place] = {
    'version': _header('HTTP_OPENSTACK_API_VERSION', 'placement '),
    'version, all of it': _header('HTTP_OPENSTACK_API_VERSION'),
    'Accept': _both(_path(''), _header('HTTP_ACCEPT')),
    'Accept of JSON and more': _header('HTTP_ACCEPT', 'application/json'),
    'Accept of a list': _both(_query(PROVIDERS, ''), _header('HTTP_ACCEPT')),
    'media type': _both(_body('POST', PROVIDERS, str), _header('CONTENT_TYPE')),
    'length': _both(_body('POST', PROVIDERS, str), _header('CONTENT_LENGTH')),
    'method': _header('REQUEST_METHOD'),
    'token': _header('HTTP_X_AUTH_TOKEN'),
    'roles': _both(_query(PROVIDERS, 'a='), _header('HTTP_X_ROLES')),
    'request id': _header('HTTP_X_OPENSTACK_REQUEST_ID', 'req-'),
    'host': _header('HTTP_HOST'),
    'path': _path('/'),
    'path of a provider': _path(f'{PROVIDERS}/'),
    'path of an inventory': _path(f'{PROVIDERS}/{UUID}/inventories/'),
    'path of a consumer': _path('/allocations/'),
    'path of a trait': _path('/traits/'),
    'path of a new trait': _path('/traits/', 'PUT'),
    'path of a class': _path('/resource_classes/', 'PUT'),
    **{
        f'{name} of a search': _query(CANDIDATES, f'resources=VCPU:1&{name}=')
        for name in ('resources', 'required', 'member_of', 'in_tree', 'limit', 'group_policy',
                     'same_subtree', 'root_required', 'resources1', 'pony')
    },
    'amount of a search': _query(CANDIDATES, 'resources=VCPU:'),
    'parameter of a search': _query(CANDIDATES, 'resources=VCPU:1&'),
    'group of a search': _query(CANDIDATES, 'resources', '=VCPU:1'),
    **{
        f'{name} of a list': _query(PROVIDERS, f'{name}=')
        for name in ('name', 'uuid', 'member_of', 'resources', 'in_tree', 'required', 'pony')
    },
    'query of traits': _query('/traits', 'name='),
    'project of usages': _query('/usages', 'project_id='),
    'body': _body('POST', PROVIDERS, str),
    'text in a body': _body('POST', PROVIDERS, lambda text: text),
    'name in a body': _body('POST', PROVIDERS, lambda text: {'name': text}),
    'uuid in a body': _body('POST', PROVIDERS, lambda text: {'name': 'a', 'uuid': text}),
    'member of a body': _body('POST', PROVIDERS, lambda text: {text: 1}),
    'items in a body': _body('POST', PROVIDERS, lambda text: [text[:9]] * (len(text) // 13)),
    'class in a body': _body('POST', '/resource_classes', lambda text: {'name': text}),
    'traits in a body': _body(
        'PUT', f'{PROVIDERS}/{UUID}/traits',
        lambda text: {'traits': [text], 'resource_provider_generation': 0},
    ),
    'consumer in a body': _body('POST', '/allocations', lambda text: {text: {}}),
    'consumers in a body': _body(
        'POST', '/allocations', lambda text: {f'{n}{text[:9]}': {} for n in range(len(text) // 20)}
    ),
    'explained query': _body(
        'POST', '/insight/allocation_candidates', lambda text: {'query': text}
    ),
}  # fmt: skip


def request(place: str, text: str, accept: str = FORMATS[0]) -> Environ:
    """The environment of a request with a text in one of the places."""
    environ: Environ = webob.Request.blank('/').environ
    environ |= {
        'HTTP_ACCEPT': accept,
        'HTTP_X_AUTH_TOKEN': 'admin',
        'HTTP_X_ROLES': 'admin,service',
        'HTTP_OPENSTACK_API_VERSION': f'placement {NEWEST}',
    }
    PLACES[place](environ, text)
    return environ
