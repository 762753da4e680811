# SPDX-License-Identifier: Apache-2.0
"""Browsers on the page of another site (specification: http, "CORS")."""

from wsgiref.types import WSGIApplication

import pytest
from oslo_config import cfg

from placement import conf as placement_conf
from placement.middleware import cross_origin, identity
from placement.tests.unit.middleware.samples import Inner, ask

SITE = 'http://horizon.example'


def conf(*origins: str) -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    placement_conf.register_opts(conf)
    if origins:
        conf.set_override('allowed_origin', list(origins), 'cors')
    return conf


@pytest.fixture
def application() -> WSGIApplication:
    return cross_origin.cross_origin(identity.NoAuth(Inner(headers=(('vary', 'x'),))), conf(SITE))


def test_middleware_is_absent_without_allowed_origins() -> None:
    inner = Inner()

    assert cross_origin.cross_origin(inner, conf()) is inner


def test_preflight_request_needs_no_token(application: WSGIApplication) -> None:
    response = ask(
        application, method='OPTIONS', Origin=SITE,
        Access_Control_Request_Method='PUT',
        Access_Control_Request_Headers='X-Auth-Token,OpenStack-API-Version',
    )  # fmt: skip

    assert response.status_int == 200
    assert response.body == b''
    assert dict(response.headers) | {'Content-Length': '0'} == {
        'Content-Length': '0',
        'Access-Control-Allow-Origin': SITE,
        'Access-Control-Allow-Credentials': 'true',
        'Access-Control-Max-Age': '3600',
        'Access-Control-Allow-Methods': 'PUT',
        'Access-Control-Allow-Headers': 'X-Auth-Token,OpenStack-API-Version',
        'Vary': 'Origin',
    }


@pytest.mark.parametrize(
    'headers',
    [
        {},
        {'Origin': SITE},
        {'Origin': 'http://other', 'Access_Control_Request_Method': 'PUT'},
        {'Origin': SITE, 'Access_Control_Request_Method': 'TRACE'},
        {
            'Origin': SITE,
            'Access_Control_Request_Method': 'PUT',
            'Access_Control_Request_Headers': 'X-Unheard-Of',
        },
    ],
)
def test_refused_preflight_request_is_200_without_cors_headers(
    application: WSGIApplication, headers: dict[str, str]
) -> None:
    response = ask(application, method='OPTIONS', **headers)

    assert response.status_int == 200
    assert not [name for name in response.headers if name.startswith('Access-Control')]


def test_response_has_cors_headers_for_an_allowed_origin(application: WSGIApplication) -> None:
    response = ask(application, Origin=SITE, X_Auth_Token='ana')

    assert response.headers['Access-Control-Allow-Origin'] == SITE
    assert response.headers['Access-Control-Allow-Credentials'] == 'true'
    assert 'OpenStack-API-Version' in response.headers['Access-Control-Expose-Headers']
    assert {name.strip() for name in response.headers['Vary'].split(',')} == {'x', 'Origin'}


def test_error_response_has_cors_headers(application: WSGIApplication) -> None:
    response = ask(application, Origin=SITE)

    assert response.status_int == 401
    assert response.headers['Access-Control-Allow-Origin'] == SITE


def test_response_has_no_cors_headers_for_other_origins(application: WSGIApplication) -> None:
    response = ask(application, Origin='http://other', X_Auth_Token='ana')

    assert dict(response.headers) == {'vary': 'x'}
