# SPDX-License-Identifier: Apache-2.0
"""A small application to wrap, a way to ask it, and a configuration."""

import dataclasses
import json
from collections.abc import Iterable
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import webob
from oslo_config import cfg

from placement import conf as placement_conf


@dataclasses.dataclass
class Inner:
    """The innermost application: it notes what reached it and answers with 204."""

    environ: WSGIEnvironment = dataclasses.field(default_factory=dict)
    headers: tuple[tuple[str, str], ...] = ()
    failure: Exception | None = None

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        self.environ = environ
        if self.failure is not None:
            raise self.failure
        start_response('204 No Content', list(self.headers))
        return [b'']


def configuration(**options: object) -> cfg.ConfigOpts:
    """The defaults, which no file changes, and a database; options are ``group__name``."""
    conf = cfg.ConfigOpts()
    placement_conf.register_opts(conf)
    for name, value in ({'placement_database__connection': 'sqlite://'} | options).items():
        group, _, option = name.partition('__')
        conf.set_override(option, value, group)
    conf([], project='placement', default_config_files=[], default_config_dirs=[])
    return conf


def ask(
    application: WSGIApplication, path: str = '/traits', method: str = 'GET', **headers: str
) -> webob.Response:
    """The answer, its headers native strings; write names with underscores."""
    request = webob.Request.blank('/', method=method)
    # An empty path, and one with odd bytes, cannot be had through the constructor.
    request.environ['PATH_INFO'], _, request.environ['QUERY_STRING'] = path.partition('?')
    for name, value in headers.items():
        request.headers[name.replace('_', '-')] = value
    response = request.get_response(application)
    assert {type(part) for header in response.headerlist for part in header} <= {str}
    return response


def error_of(response: webob.Response) -> dict[str, Any]:
    """The one error in a JSON body."""
    (error,) = json.loads(response.body)['errors']
    assert isinstance(error, dict)
    return error
