# SPDX-License-Identifier: Apache-2.0
"""Reaching a service by clouds.yaml."""

import pathlib
from typing import Any

import pytest
from keystoneauth1.identity import generic

import placement_report_client as client
from placement_report_client import clouds

CLOUDS = """
clouds:
  production:
    auth:
      auth_url: https://identity.example/v3
      username: scheduler
      project_name: service
      user_domain_id: default
      project_domain_id: default
    region_name: north
    interface: public
    placement_interface: internal
    placement_endpoint_override: http://127.0.0.1:8779
    cacert: /etc/ssl/ca.pem
"""

SECRETS = """
clouds:
  production:
    auth: {password: secret}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A directory with clouds.yaml, far from those of this machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(clouds, 'DIRECTORIES', (pathlib.Path(), pathlib.Path('elsewhere')))
    for variable in ('OS_CLOUD', 'OS_CLIENT_CONFIG_FILE', 'OS_CLIENT_SECURE_FILE'):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / 'clouds.yaml').write_text(CLOUDS)
    return tmp_path


def test_secure_yaml_is_searched_in_the_directories_of_clouds_yaml(
    here: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def password() -> str:
        return str(clouds.find_cloud('production')['auth']['password'])

    (here / 'elsewhere').mkdir()
    (here / 'elsewhere' / 'secure.yml').write_text(SECRETS)
    assert password() == 'secret'
    (here / 'mine').write_text(SECRETS.replace('secret', 'other'))
    monkeypatch.setenv('OS_CLIENT_SECURE_FILE', str(here / 'mine'))
    assert password() == 'other'


def test_cloud_has_everything_that_both_files_say_of_it(here: pathlib.Path) -> None:
    (here / 'secure.yaml').write_text(SECRETS)
    adapter = clouds.make_adapter(clouds.find_cloud('production'))
    auth = adapter.session.auth
    assert isinstance(auth, generic.Password)
    assert auth.auth_url == 'https://identity.example/v3'
    assert (auth._username, auth._password) == ('scheduler', 'secret')
    assert (adapter.service_type, adapter.region_name) == ('placement', 'north')
    assert (adapter.interface, adapter.endpoint_override) == ('internal', 'http://127.0.0.1:8779')
    assert adapter.session.verify == '/etc/ssl/ca.pem'


@pytest.mark.parametrize(
    ('said', 'verify'),
    [
        ({}, True),
        ({'verify': True}, True),
        ({'cacert': 'ca.pem'}, 'ca.pem'),
        ({'verify': True, 'cacert': 'ca.pem'}, 'ca.pem'),
        ({'verify': None, 'cacert': 'ca.pem'}, 'ca.pem'),
        ({'verify': False, 'cacert': 'ca.pem'}, False),
    ],
)
def test_verify_and_cacert_select_the_certificate_check(
    said: dict[str, object], verify: str | bool
) -> None:
    adapter = clouds.make_adapter({'auth_type': 'none', **said})
    assert adapter.session.verify == verify


def test_requests_for_tokens_have_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr(
        clouds, 'ReportClient', lambda adapter, _retry_policy: made.append(adapter)
    )
    clouds.connect('production', client.RetryPolicy(request_timeout=3))
    assert made[0].session.timeout == 3


def test_first_file_found_is_used(here: pathlib.Path) -> None:
    (here / 'elsewhere').mkdir()
    (here / 'elsewhere' / 'clouds.yml').write_text('clouds: {other: {auth_type: none}}')
    with pytest.raises(client.NotConfigured, match='has no cloud other'):
        clouds.find_cloud('other')
    (here / 'clouds.yaml').unlink()
    assert clouds.find_cloud('other') == {'auth_type': 'none'}


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        (None, r'no clouds\.yaml'),
        ('clouds: [', 'cannot be read'),
        ('clouds: text', 'does not list clouds'),
        ('- text', 'does not list clouds'),
        ('', 'does not list clouds'),
        ('clouds: {}', 'has no cloud x'),
        ('clouds: {x: {auth_type: no_such}}', 'auth_type no_such'),
        ('clouds: {x: {auth_type: password}}', 'auth_type password: .*auth'),
    ],
)
def test_error_names_the_fault_of_the_file(
    here: pathlib.Path, content: str | None, message: str
) -> None:
    if content is None:
        (here / 'clouds.yaml').unlink()
    else:
        (here / 'clouds.yaml').write_text(content)
    with pytest.raises(client.NotConfigured, match=message):
        clouds.connect('x')


def test_os_cloud_names_the_cloud(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(client.NotConfigured, match='no cloud is named'):
        clouds.connect()
    monkeypatch.setenv('OS_CLOUD', 'production')
    assert isinstance(clouds.connect(), client.ReportClient)
