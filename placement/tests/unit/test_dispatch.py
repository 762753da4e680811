# SPDX-License-Identifier: Apache-2.0
"""Paths and bodies that clients of gabbi cannot send (specification: http)."""

from wsgiref.types import WSGIApplication

import pytest

from placement import deploy, microversions
from placement.tests.unit.middleware.samples import ask, error_of
from placement.tests.unit.test_deploy import configured

HEADERS = {
    'X_Auth_Token': 'admin',
    'OpenStack_API_Version': f'placement {microversions.NEWEST}',
}


@pytest.fixture(scope='module')
def service(tmp_path_factory: pytest.TempPathFactory) -> WSGIApplication:
    path = tmp_path_factory.mktemp('dispatch') / 'placement.sqlite'
    return deploy.loadapp(configured(path, placement_database__sync_on_startup=True))


@pytest.mark.parametrize(
    'path',
    [
        '/resource_providers//inventories',
        '//',
        '/traits/\xff',
        '/traits/a\0b',
        '/\n',
        '\n',
        '/resource_providers\n',
        '/resource_providers/a/inventories\n',
        '/traits\n\n',
    ],
)
def test_path_that_is_not_in_the_url_map_is_not_found(service: WSGIApplication, path: str) -> None:
    for method in ('GET', 'PUT', 'OPTIONS'):
        response = ask(service, path, method, **HEADERS)
        assert response.status_int == 404
        assert 'The resource could not be found.' in error_of(response)['detail']


@pytest.mark.parametrize('name', ['a b%c☃', 'a\n', 'a\nb', '\n'])
def test_variable_of_a_path_may_be_any_text(service: WSGIApplication, name: str) -> None:
    path = f'/resource_providers/{name}'.encode().decode('latin-1')

    response = ask(service, path, **HEADERS)

    assert response.status_int == 404
    # A text is shown on one line.
    shown = name.replace('\n', ' ')
    assert f'No resource provider with uuid {shown} found' in error_of(response)['detail']


@pytest.mark.parametrize('path', ['/traits/CUSTOM_A\n', '/resource_classes/CUSTOM_A\n'])
def test_name_in_a_path_cannot_end_in_a_newline(service: WSGIApplication, path: str) -> None:
    assert ask(service, path, 'PUT', **HEADERS).status_int == 400
    assert ask(service, path, **HEADERS).status_int == 404
