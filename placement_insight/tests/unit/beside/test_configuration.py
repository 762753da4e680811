# SPDX-License-Identifier: Apache-2.0
"""The configuration of insight beside another service has a directory of its own."""

import pathlib

import pytest

from placement_insight import serve
from placement_insight.beside import application

CONNECTION = 'OS_PLACEMENT_DATABASE__CONNECTION'


@pytest.fixture
def directory(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A directory with an empty `placement.conf`, which the environment names."""
    (tmp_path / 'placement.conf').touch()
    monkeypatch.setenv('OS_PLACEMENT_CONFIG_DIR', str(tmp_path))
    monkeypatch.setenv(CONNECTION, 'sqlite://')
    return tmp_path


def test_policy_is_that_of_its_own_directory(directory: pathlib.Path) -> None:
    policy = application.load_configuration().oslo_policy
    assert policy.policy_file == f'{directory}/policy.yaml'
    assert [*policy.policy_dirs] == [f'{directory}/policy.d']
    (directory / 'placement.conf').write_text(
        '[oslo_policy]\npolicy_file = own.yaml\npolicy_dirs = /own\npolicy_dirs = more\n'
    )
    policy = application.load_configuration().oslo_policy
    assert policy.policy_file == f'{directory}/own.yaml'
    assert [*policy.policy_dirs] == ['/own', f'{directory}/more']


def test_configuration_of_the_service_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv('OS_PLACEMENT_CONFIG_DIR', raising=False)
    monkeypatch.setenv(CONNECTION, 'sqlite://')
    monkeypatch.setattr(application, 'CONFIG_DIR', '/nowhere')
    with pytest.raises(application.placement_conf.Error, match='/nowhere/placement'):
        application.load_configuration()


@pytest.mark.usefixtures('directory')
def test_page_is_on_and_answers_are_a_little_old() -> None:
    conf = application.load_configuration()
    assert conf.ui.enabled
    assert conf.insight.snapshot_max_age == 15


@pytest.mark.usefixtures('directory')
def test_sqlite_is_refused() -> None:
    with pytest.raises(application.UnusableDatabase, match='no accounts that may only read'):
        application.loadapp(application.load_configuration())


def test_replica_is_read_in_place_of_the_primary(
    directory: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CONNECTION, 'mysql+pymysql://primary.example.org/placement')
    (directory / 'placement.conf').write_text(
        '[placement_database]\nslave_connection = sqlite://\n'
    )
    with pytest.raises(application.UnusableDatabase):
        application.loadapp(application.load_configuration())


def test_trial_without_a_database_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (CONNECTION, 'OS_PLACEMENT_CONFIG_DIR'):
        monkeypatch.delenv(name, raising=False)
    assert serve.main(['--port', '0']) == 1
    assert f'no database is named: set {CONNECTION}' in capsys.readouterr().err


def test_trial_is_refused_beyond_the_loopback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv('OS_PLACEMENT_CONFIG_DIR', raising=False)
    monkeypatch.setenv(CONNECTION, 'mysql+pymysql://db.example.org/placement')
    assert serve.main(['--port', '0', '--host', '192.0.2.1']) == 1
    assert 'refusing to serve on 192.0.2.1 with auth_strategy noauth2' in capsys.readouterr().err
