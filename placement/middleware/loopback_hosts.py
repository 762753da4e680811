# SPDX-License-Identifier: Apache-2.0
"""Which hosts requests may be for when callers are not authenticated (DNS rebinding).

A page in a browser on the same machine can let a name of its own lead to the loopback address.
Its requests, with whatever token, then are of one origin with this service for the browser. What
they cannot hide is the name: it is in the ``Host`` header.
"""

import ipaddress
import re
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from placement import errors
from placement.conf import ConfigOpts
from placement.http.error_response import send_error

ANY = '*'

# RFC 3986, 3.2.2: an address of version 6 is in brackets.
_HOST = re.compile(r'(?:\[(?P<address>[^]]*)\]|(?P<name>[^:]*))(?::\d*)?')


def is_loopback(host: str) -> bool:
    """Return True for a name or an address of the machine itself, without asking DNS."""
    try:
        return host == 'localhost' or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def only_known_hosts(application: WSGIApplication, conf: ConfigOpts) -> WSGIApplication:
    """The application, under ``noauth2`` with an answer of 403 to requests for other hosts."""
    allowed = frozenset(name.lower() for name in conf.api.noauth2_allowed_hosts)
    if conf.api.auth_strategy != 'noauth2' or ANY in allowed:
        return application

    def check(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        host = environ.get('HTTP_HOST')
        # Browsers always send one.
        if host is None or _is_known(host, allowed):
            return application(environ, start_response)
        error = errors.Forbidden(
            'The Host header does not name a loopback address, which is required while '
            '[api] auth_strategy is noauth2; [api] noauth2_allowed_hosts can name others.'
        )
        return send_error(environ, start_response, error)

    return check


def _is_known(host: str, allowed: frozenset[str]) -> bool:
    match = _HOST.fullmatch(host.lower())
    if match is None:
        return False
    name = match['address'] or (match['name'] or '').removesuffix('.')
    return is_loopback(name) or name in allowed
