# SPDX-License-Identifier: Apache-2.0
"""The identity of the caller: authentication, and the request context.

Specification: http, "Authentication".
"""

import functools
from collections.abc import Iterable
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import webob.exc

from placement import errors
from placement.conf import ConfigOpts
from placement.context import RequestContext
from placement.http import environ_keys
from placement.middleware import Middleware, fault_barrier

# Timeout in seconds of a request to Keystone, which the library attempts four times. Without it
# all threads would soon wait for a Keystone that does not answer.
KEYSTONE_SECONDS = 10

# The version document is public, so that clients can discover versions.
OPEN_PATHS = ('', '/')


def is_open(environ: WSGIEnvironment) -> bool:
    """True if the path needs no token."""
    return environ.get('PATH_INFO', '') in OPEN_PATHS


def refuse(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer an unauthenticated caller with a 401, in webob's format instead of the API's."""
    answer: Iterable[bytes] = webob.exc.HTTPUnauthorized()(environ, start_response)
    return answer


class NoAuth:
    """Middleware that takes the identity of the caller from the token, without any check.

    The token is ``user`` or ``user:project``. It becomes the same identity headers as a validated
    token of Keystone.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        # Unlike with Keystone, the empty path needs a token.
        if environ.get('PATH_INFO') == '/':
            return self._application(environ, start_response)
        token = environ.get('HTTP_X_AUTH_TOKEN')
        if token is None:
            return refuse(environ, start_response)
        _set_identity_headers(token, environ)
        return self._application(environ, start_response)


def _set_identity_headers(token: str, environ: WSGIEnvironment) -> None:
    """Set the headers that keystonemiddleware sets for a valid token."""
    user, _, project = token.partition(':')
    environ['HTTP_X_USER_ID'] = user
    if not environ.get('HTTP_OPENSTACK_SYSTEM_SCOPE'):
        # An X-Project-Id from the client takes precedence over this older name.
        environ['HTTP_X_TENANT_ID'] = project or user
    environ.setdefault('HTTP_X_ROLES', 'admin' if user == 'admin' else '')


class Keystone:
    """Middleware that validates the caller's token of Keystone.

    Public paths need no token. Configured by ``[keystone_authtoken]``.
    """

    def __init__(self, application: WSGIApplication, conf: ConfigOpts) -> None:
        # Imported here because it is large, and unused with the other strategy.
        from keystonemiddleware import auth_token
        from keystonemiddleware.opts import list_auth_token_opts

        for group, options in list_auth_token_opts():
            conf.register_opts(options, group)
            conf.set_default('http_connect_timeout', KEYSTONE_SECONDS, group)
        self._application = application
        # The library raises for unexpected answers of Keystone. It runs outside of the fault
        # barrier around the application, so it needs one of its own.
        self._guarded = fault_barrier.FaultBarrier(
            auth_token.AuthProtocol(application, {'oslo_config_config': conf}),
            errors.IdentityUnavailable,
        )

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if is_open(environ):
            return self._application(environ, start_response)
        return self._guarded(environ, _with_retry_after(environ, start_response))


def _with_retry_after(environ: WSGIEnvironment, start_response: StartResponse) -> StartResponse:
    """Add Retry-After to a 503 for a token that cannot be validated."""

    def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
        # With a valid token the answer comes from the service, which sets the header itself.
        is_valid = environ.get('HTTP_X_IDENTITY_STATUS') == 'Confirmed'
        if status.startswith('503') and not is_valid:
            seconds = str(errors.IdentityUnavailable.retry_after)
            headers = [*headers, ('Retry-After', seconds)]
        return start_response(status, headers, exc_info)

    return start


def row(conf: ConfigOpts) -> Middleware:
    """Return the middleware that `[api] auth_strategy` selects."""
    if conf.api.auth_strategy == 'noauth2':
        return NoAuth
    return functools.partial(Keystone, conf=conf)


class ContextBuilder:
    """Middleware that creates the request context from the caller's identity headers.

    Requests without a user are refused. On public paths nobody has authenticated these headers, so
    they are ignored.
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
