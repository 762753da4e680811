# SPDX-License-Identifier: Apache-2.0
"""An application whose every answer is compared with the OpenAPI document of its version."""

import functools
import json
from collections.abc import Iterable, Mapping
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import jsonschema_rs
import webob

from placement.cmd.openapi import document
from placement.routes import installed_surface

VERSION_HEADER = 'openstack-api-version'
JSON = 'application/json'


@functools.cache
def _described(version: str) -> dict[str, Any]:
    surface = installed_surface()
    return document.document(surface, document.version_named(surface, version))


@functools.cache
def _validator(version: str, action: str, status: str) -> Any:
    """The validator for the body of an answer; None for an answer without body."""
    found = _resolved(version, _answers(version, action)[status])
    if 'content' not in found:
        return None
    schema = found['content'][JSON]['schema']
    return jsonschema_rs.validator_for(schema | {'components': _described(version)['components']})


@functools.cache
def _answers(version: str, action: str) -> dict[str, Any]:
    for path in _described(version)['paths'].values():
        for operation in path.values():
            if operation['operationId'] == action:
                answers: dict[str, Any] = operation['responses']
                return answers
    raise AssertionError(f'{action} is not described at {version}')


def _resolved(version: str, part: dict[str, Any]) -> dict[str, Any]:
    """The target of a reference in a document, or the part itself."""
    found = part
    for name in part.get('$ref', '').split('/')[1:]:
        found = (_described(version) if found is part else found)[name]
    return found


def _action(version: str, method: str, path: str) -> str | None:
    """The operation that a request is for, None when the version has no such."""
    segments = path.split('/')
    for known, operations in _described(version)['paths'].items():
        names = known.split('/')
        fits = len(names) == len(segments) and all(
            name == segment or (name.startswith('{') and segment)
            for name, segment in zip(names, segments, strict=True)
        )
        if fits and method.lower() in operations:
            found: str = operations[method.lower()]['operationId']
            return found
    return None


def complaint(
    method: str, path: str, status: int, headers: Mapping[str, str], body: bytes
) -> str | None:
    """The contradiction between an answer and the document of its version, or None.

    `path` is the path below the mount point, and the names of `headers` are in lower case.
    """
    _, _, version = headers.get(VERSION_HEADER, '').partition(' ')
    if not version:
        return None
    action = _action(version, method, path or '/')
    if action is None:
        # What is no operation is not described: unknown paths, and methods that a path has not.
        return None if status >= 400 else f'{method} {path} is no operation of {version}'
    answers = _answers(version, action)
    where = f'{action} at {version}, {status}'
    if str(status) not in answers:
        return f'{where}: not one of {sorted(answers)}'
    return _of_headers(version, answers[str(status)], headers, where) or _of_body(
        version, action, status, headers, body, where
    )


def _of_headers(
    version: str, answer: dict[str, Any], headers: Mapping[str, str], where: str
) -> str | None:
    described = _resolved(version, answer).get('headers', {})
    required = {
        name.lower()
        for name, header in described.items()
        if _resolved(version, header)['required']
    }
    # Proxies and CORS may add headers, but not these, which only some responses have.
    optional = {'location', 'last-modified', 'cache-control'} & headers.keys()
    missing = required - headers.keys()
    unexpected = optional - {name.lower() for name in described}
    if missing or unexpected:
        return f'{where}: lacks {sorted(missing)}, has {sorted(unexpected)}'
    return None


def _of_body(
    version: str, action: str, status: int, headers: Mapping[str, str], body: bytes, where: str
) -> str | None:
    validator = _validator(version, action, str(status))
    if validator is None:
        return f'{where}: has a body' if body else None
    if headers.get('content-type', '').partition(';')[0] != JSON:
        return None if status >= 400 else f'{where}: is not JSON'
    error = next(validator.iter_errors(json.loads(body)), None)
    return f'{where}: {error.message} at {list(error.instance_path)}' if error else None


def conforming(application: WSGIApplication) -> WSGIApplication:
    """The application, with an assertion that every answer is as it is described."""

    def check(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        response = webob.Request(environ).get_response(application)
        # A service that is mounted below a path has taken it away from the front by now.
        path = environ['PATH_INFO'].encode('latin-1').decode('utf-8', 'replace')
        headers = {name.lower(): value for name, value in response.headerlist}
        found = complaint(
            environ['REQUEST_METHOD'], path, response.status_int, headers, response.body
        )
        assert found is None, found
        start_response(response.status, response.headerlist)
        return [response.body]

    return check
