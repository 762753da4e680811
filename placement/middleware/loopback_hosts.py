# SPDX-License-Identifier: Apache-2.0
"""Protection against DNS rebinding when callers are not authenticated.

A page in a browser on the same machine can make its own name resolve to the loopback address. To
the browser its requests then have the same origin as this service, and may carry any token. But
the ``Host`` header contains that name, so requests for unknown hosts are refused.
"""

import functools
import ipaddress
import re
from collections.abc import Iterable, Set
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from placement import errors
from placement.conf import ConfigOpts
from placement.http.error_response import send_error
from placement.middleware import Middleware

ANY = '*'

# RFC 3986, 3.2.2: IPv6 addresses are in brackets.
_HOST = re.compile(r'(?:\[(?P<address>[^]]*)\]|(?P<name>[^:]*))(?::\d*)?')


def is_loopback(host: str) -> bool:
    """True for a name or an address of the machine itself, without a DNS query."""
    try:
        return host == 'localhost' or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def row(conf: ConfigOpts) -> Middleware | None:
    """Return the middleware that refuses requests for other hosts, with ``noauth2`` only."""
    allowed = frozenset(name.lower() for name in conf.api.noauth2_allowed_hosts)
    if conf.api.auth_strategy != 'noauth2' or ANY in allowed:
        return None
    return functools.partial(KnownHosts, allowed=allowed)


class KnownHosts:
    """The wrapped application, with an answer of 403 to requests for unknown hosts.

    This machine itself is known, and so are the hosts of `allowed`, which are in lower case.
    """

    def __init__(self, application: WSGIApplication, allowed: Set[str] = frozenset()) -> None:
        self._application = application
        self._allowed = allowed

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        host = environ.get('HTTP_HOST')
        # Browsers always send a Host header.
        if host is None or _is_known(host, self._allowed):
            return self._application(environ, start_response)
        error = errors.Forbidden(
            'The Host header does not name a loopback address, which is required while '
            '[api] auth_strategy is noauth2; [api] noauth2_allowed_hosts can name others.'
        )
        return send_error(environ, start_response, error)


def _is_known(host: str, allowed: Set[str]) -> bool:
    match = _HOST.fullmatch(host.lower())
    if match is None:
        return False
    name = match['address'] or (match['name'] or '').removesuffix('.')
    return is_loopback(name) or name in allowed
