# SPDX-License-Identifier: Apache-2.0
"""The identity of the caller: authenticated, then kept in the request context.

Specification: http, "Authentication".
"""

from collections.abc import Iterable
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import webob.exc

from placement import errors
from placement.conf import ConfigOpts
from placement.context import RequestContext
from placement.http import environ_keys
from placement.middleware import fault_barrier

# Seconds for each response of Keystone, which the library asks four times. Without a bound a
# thread would wait for as long as Keystone is silent, and soon all would, whatever the tokens.
KEYSTONE_SECONDS = 10

# The version document is public, so that clients can learn which versions there are.
OPEN_PATHS = ('', '/')


def is_open(environ: WSGIEnvironment) -> bool:
    """Return True for a path that needs no token."""
    return environ.get('PATH_INFO', '') in OPEN_PATHS


def refuse(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """The answer to an unauthenticated caller: 401, not in the format of other errors."""
    answer: Iterable[bytes] = webob.exc.HTTPUnauthorized()(environ, start_response)
    return answer


class NoAuth:
    """The wrapped application, which takes the caller to be whoever the token names.

    The token is ``user`` or ``user:project``; nobody checks it. It becomes the identity headers
    that a validated token of Keystone would have become.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        # The empty path, unlike under keystone, does need a token.
        if environ.get('PATH_INFO') == '/':
            return self._application(environ, start_response)
        token = environ.get('HTTP_X_AUTH_TOKEN')
        if token is None:
            return refuse(environ, start_response)
        _set_identity_headers(token, environ)
        return self._application(environ, start_response)


def _set_identity_headers(token: str, environ: WSGIEnvironment) -> None:
    """Set the headers that keystonemiddleware would set for a token that it validated."""
    user, _, project = token.partition(':')
    environ['HTTP_X_USER_ID'] = user
    if not environ.get('HTTP_OPENSTACK_SYSTEM_SCOPE'):
        # X-Project-Id, when the client sent it, is preferred to this older name.
        environ['HTTP_X_TENANT_ID'] = project or user
    environ.setdefault('HTTP_X_ROLES', 'admin' if user == 'admin' else '')


def keystone(application: WSGIApplication, conf: ConfigOpts) -> WSGIApplication:
    """The application, for callers whose token the identity service has issued.

    The public paths bypass the check of the token. Configured by ``[keystone_authtoken]``.
    """
    # Imported here because it is large, and not needed under the other strategy.
    from keystonemiddleware import auth_token
    from keystonemiddleware.opts import list_auth_token_opts

    for group, options in list_auth_token_opts():
        conf.register_opts(options, group)
        conf.set_default('http_connect_timeout', KEYSTONE_SECONDS, group)
    # The library raises, outside of the fault barrier around the application, when the identity
    # service answers in ways that it does not expect.
    guarded = fault_barrier.FaultBarrier(
        auth_token.AuthProtocol(application, {'oslo_config_config': conf}),
        errors.IdentityUnavailable,
    )

    def choose(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if is_open(environ):
            return application(environ, start_response)
        return guarded(environ, _with_retry_after(environ, start_response))

    return choose


def _with_retry_after(environ: WSGIEnvironment, start_response: StartResponse) -> StartResponse:
    """Add when to ask again to a 503 for a token that cannot be validated."""

    def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
        # With a valid token it is an answer of the service, with the header where it makes sense.
        is_valid = environ.get('HTTP_X_IDENTITY_STATUS') == 'Confirmed'
        if status.startswith('503') and not is_valid:
            seconds = str(errors.IdentityUnavailable.retry_after)
            headers = [*headers, ('Retry-After', seconds)]
        return start_response(status, headers, exc_info)

    return start


class ContextBuilder:
    """The wrapped application, with a request context made from the headers of the caller.

    Requests without a user are refused, except for the public paths. The identity
    headers of those are not authenticated, and are ignored.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if is_open(environ):
            context = RequestContext(
                request_id=environ.get(environ_keys.REQUEST_ID),
                global_request_id=environ.get(environ_keys.GLOBAL_REQUEST_ID),
            )
        else:
            context = RequestContext.from_environ(environ)
            if context.user_id is None:
                return refuse(environ, start_response)
        environ[environ_keys.CONTEXT] = context
        return self._application(environ, start_response)
