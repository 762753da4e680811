# SPDX-License-Identifier: Apache-2.0
"""Authentication of callers, and their identity (specification: http, "Authentication")."""

import json
import socket
from typing import Any
from wsgiref.types import WSGIApplication

import pytest
from keystoneauth1.exceptions import ConnectFailure
from keystonemiddleware.auth_token import _exceptions as exceptions
from keystonemiddleware.auth_token import _identity

from placement import errors
from placement.context import RequestContext
from placement.http import environ_keys
from placement.http.error_response import error_response
from placement.middleware import identity, request_log
from placement.tests.unit.middleware.samples import Inner, ask, configuration, error_of

TOKEN = 'a-token'

# What the identity service says of that token.
VALIDATED = {
    'token': {
        'methods': ['password'],
        'issued_at': '2020-01-01T00:00:00.000000Z',
        'expires_at': '2999-01-01T00:00:00.000000Z',
        'user': {'id': 'ana', 'name': 'Ana', 'domain': {'id': 'default', 'name': 'Default'}},
        'project': {'id': 'books', 'name': 'B', 'domain': {'id': 'default', 'name': 'Default'}},
        'roles': [{'id': 'r', 'name': 'reader'}],
    }
}

# Those of the user with whom the service asks.
KEYSTONE_OPTIONS = {
    'WWW_AUTHENTICATE_URI': 'http://identity',
    'AUTH_TYPE': 'password',
    'USERNAME': 'service',
    'PASSWORD': 'secret',
    'PROJECT_NAME': 'service',
    'USER_DOMAIN_ID': 'default',
    'PROJECT_DOMAIN_ID': 'default',
    'HTTP_REQUEST_MAX_RETRIES': '0',
}


@pytest.fixture
def inner() -> Inner:
    return Inner()


@pytest.fixture
def noauth(inner: Inner) -> WSGIApplication:
    return request_log.RequestLog(identity.NoAuth(identity.ContextBuilder(inner)))


def context_of(inner: Inner) -> RequestContext:
    context = inner.environ[environ_keys.CONTEXT]
    assert isinstance(context, RequestContext)
    return context


@pytest.mark.parametrize(
    ('headers', 'expected'),
    [
        ({'X_Auth_Token': 'ana:'}, {'user_id': 'ana', 'project_id': 'ana'}),
        ({'X_Auth_Token': 'ana:books:more'}, {'user_id': 'ana', 'project_id': 'books:more'}),
        ({'X_Auth_Token': ':books'}, {'user_id': '', 'project_id': 'books'}),
        (
            {'X_Auth_Token': 'admin', 'X_Roles': ' reader , Member'},
            {'roles': ['reader', 'Member']},
        ),
        ({'X_Auth_Token': 'admin', 'X_Roles': ''}, {'roles': []}),
        (
            {'X_Auth_Token': 'ana:books', 'OpenStack_System_Scope': 'all'},
            {'system_scope': 'all', 'project_id': None},
        ),
        ({'X_Auth_Token': 'ana', 'X_User_Id': 'admin'}, {'user_id': 'ana'}),
    ],
)
def test_noauth2_takes_the_identity_from_the_token_and_few_headers(
    noauth: WSGIApplication, inner: Inner, headers: dict[str, str], expected: dict[str, Any]
) -> None:
    response = ask(noauth, **headers)
    assert response.status_int == 204

    context = context_of(inner)
    assert context.request_id == response.headers['x-openstack-request-id']
    assert {name: getattr(context, name) for name in expected} == expected


def test_identity_headers_on_public_paths_are_ignored(
    noauth: WSGIApplication, inner: Inner
) -> None:
    ask(noauth, '/', X_User_Id='admin', X_Roles='admin')

    assert (context_of(inner).user_id, context_of(inner).roles) == (None, [])


def keystone_application(inner: Inner, monkeypatch: pytest.MonkeyPatch) -> WSGIApplication:
    """The middleware in front of `inner`, with an identity service that knows one token."""

    def verify(self: Any, user_token: str, allow_expired: bool = True) -> Any:
        if user_token != TOKEN:
            raise exceptions.InvalidToken
        return VALIDATED

    monkeypatch.setattr(_identity.IdentityServer, 'verify_token', verify)
    monkeypatch.setenv('OS_KEYSTONE_AUTHTOKEN__WWW_AUTHENTICATE_URI', 'http://identity')
    application = identity.Keystone(identity.ContextBuilder(inner), configuration())
    return request_log.RequestLog(application)


class TestKeystone:
    """Requests with the strategy keystone, and an identity service with one valid token."""

    @pytest.fixture
    def application(self, inner: Inner, monkeypatch: pytest.MonkeyPatch) -> WSGIApplication:
        return keystone_application(inner, monkeypatch)

    @pytest.mark.parametrize('headers', [{}, {'X_Auth_Token': 'wrong'}])
    def test_every_other_path_needs_a_token(
        self, application: WSGIApplication, inner: Inner, headers: dict[str, str]
    ) -> None:
        response = ask(application, '/traits', **headers)

        assert response.status_int == 401
        assert response.headers['WWW-Authenticate'] == 'Keystone uri="http://identity"'
        assert json.loads(response.body)['error']['code'] == 401
        assert json.loads(response.body)['error']['title'] == 'Unauthorized'
        assert inner.environ == {}

    # oslo.cache looks whether eventlet is there; python-memcached does not close a socket that is
    # refused.
    @pytest.mark.filterwarnings(r'ignore:\s*Eventlet is deprecated')
    @pytest.mark.filterwarnings('ignore:unclosed <socket:ResourceWarning')
    @pytest.mark.parametrize('strategy', ['None', 'ENCRYPT'])
    def test_a_token_is_checked_where_memcached_is_configured(
        self, inner: Inner, monkeypatch: pytest.MonkeyPatch, strategy: str
    ) -> None:
        """Use the libraries of the extra ``memcached``, without a memcached server."""
        monkeypatch.setenv('OS_KEYSTONE_AUTHTOKEN__MEMCACHED_SERVERS', '127.0.0.1:1')
        monkeypatch.setenv('OS_KEYSTONE_AUTHTOKEN__MEMCACHE_SECURITY_STRATEGY', strategy)
        monkeypatch.setenv('OS_KEYSTONE_AUTHTOKEN__MEMCACHE_SECRET_KEY', 'secret')
        application = keystone_application(inner, monkeypatch)

        assert ask(application, X_Auth_Token=TOKEN).status_int == 204
        assert context_of(inner).user_id == 'ana'

    def test_identity_headers_of_the_client_are_ignored(
        self, application: WSGIApplication, inner: Inner
    ) -> None:
        ask(
            application,
            X_Auth_Token=TOKEN, X_Roles='admin', X_Role='admin', X_User_Id='admin',
            X_Project_Id='maps', OpenStack_System_Scope='all',
        )  # fmt: skip

        context = context_of(inner)
        assert (context.user_id, context.project_id) == ('ana', 'books')
        assert context.roles == ['reader']
        assert not context.system_scope

    def test_unexpected_failure_of_the_library_is_a_503_with_fixed_words(
        self,
        application: WSGIApplication,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        def fail(*args: Any, **kwargs: Any) -> Any:
            raise RuntimeError('no identity service')

        monkeypatch.setattr(_identity.IdentityServer, 'verify_token', fail)
        response = ask(application, X_Auth_Token=TOKEN)

        assert response.status_int == 503
        assert response.headers['Retry-After'] == '1'
        error = error_of(response)
        assert error['detail'].strip().endswith(errors.IdentityUnavailable.message)
        assert error['code'] == 'placement.undefined_code'
        assert 'no identity service' not in response.text
        assert 'RuntimeError: no identity service' in caplog.text
        assert error['request_id'] == response.headers['x-openstack-request-id']

    def test_a_503_of_the_library_tells_when_to_ask_again(
        self, application: WSGIApplication, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*args: Any, **kwargs: Any) -> Any:
            raise ConnectFailure

        monkeypatch.setattr(_identity.IdentityServer, 'verify_token', fail)
        response = ask(application, X_Auth_Token=TOKEN)

        assert response.status_int == 503
        assert 'Keystone service is temporarily unavailable' in response.text
        assert response.headers['Retry-After'] == '1'

    def test_a_503_of_the_service_stays_as_it_is(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Keep a 503 with an unknown outcome: the client has to read before it retries."""

        class Unknown(Inner):
            def __call__(self, environ: Any, start_response: Any) -> Any:
                error = errors.OutcomeUnknown()
                return error_response(environ, error.status, str(error))(environ, start_response)

        response = ask(keystone_application(Unknown(), monkeypatch), X_Auth_Token=TOKEN)

        assert response.status_int == 503
        assert 'Retry-After' not in response.headers

    def test_a_keystone_that_is_silent_is_not_waited_for_without_bound(
        self, inner: Inner, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with socket.create_server(('127.0.0.1', 0)) as silent:
            url = f'http://127.0.0.1:{silent.getsockname()[1]}'
            for name, value in KEYSTONE_OPTIONS.items():
                monkeypatch.setenv(f'OS_KEYSTONE_AUTHTOKEN__{name}', value)
            monkeypatch.setenv('OS_KEYSTONE_AUTHTOKEN__AUTH_URL', url)
            monkeypatch.setattr(identity, 'KEYSTONE_SECONDS', 1)
            application = identity.Keystone(identity.ContextBuilder(inner), configuration())
            response = ask(request_log.RequestLog(application), X_Auth_Token=TOKEN)

        assert response.status_int == 503
        assert response.headers['Retry-After'] == '1'
