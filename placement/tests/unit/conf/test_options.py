# SPDX-License-Identifier: Apache-2.0
"""All options, and the sources of their values (specification: configuration)."""

import pathlib
import subprocess
import sys
from collections.abc import Callable

import pytest
from oslo_config import cfg
from oslo_middleware import cors

from placement import conf as placement_conf
from placement.conf import opts

PARENT = str(pathlib.Path(placement_conf.__file__).parents[2])

Load = Callable[..., cfg.ConfigOpts]


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """Use an empty home directory and no variables of the service."""
    monkeypatch.setenv('HOME', str(tmp_path / 'home'))
    monkeypatch.delenv('OS_PLACEMENT_CONFIG_DIR', raising=False)
    monkeypatch.delenv('OS_API__AUTH_STRATEGY', raising=False)
    monkeypatch.delenv('OS_PLACEMENT_DATABASE__CONNECTION', raising=False)


@pytest.fixture
def configured(tmp_path: pathlib.Path) -> Callable[[str], cfg.ConfigOpts]:
    """The configuration that results from the text of one file."""

    def load(text: str) -> cfg.ConfigOpts:
        tmp_path.joinpath('placement.conf').write_text(text)
        return placement_conf.load(environ={'OS_PLACEMENT_CONFIG_DIR': str(tmp_path)})

    return load


MINIMUM = '[placement_database]\nconnection = sqlite://\n'


def test_defaults_are_those_that_the_specification_has_words_for(configured: Load) -> None:
    conf = configured(MINIMUM)
    nobody = '00000000-0000-0000-0000-000000000000'

    assert (conf.pybasedir, conf.state_path) == (PARENT, PARENT)
    assert conf.placement.incomplete_consumer_project_id == nobody
    assert conf.placement.incomplete_consumer_user_id == nobody


@pytest.mark.parametrize(
    'text',
    [
        '[api]\nauth_strategy = noauth2\n',
        f'{MINIMUM}[api]\nauth_strategy = basic',
        f'{MINIMUM}[placement]\nallocation_candidates_generation_strategy = random',
        f'{MINIMUM}[placement]\nmax_allocation_candidates = many',
    ],
)
def test_missing_connection_and_values_of_another_kind_are_refused(
    configured: Load, text: str
) -> None:
    words = text.split(' ')[-1] if text.startswith(MINIMUM) else r'connection in group \[placem'
    with pytest.raises(placement_conf.Error, match=words):
        configured(text)


def test_the_strategy_of_authentication_is_also_read_from_its_former_group(
    configured: Load,
) -> None:
    conf = configured(f'[DEFAULT]\nauth_strategy = noauth2\n{MINIMUM}')

    assert conf.api.auth_strategy == 'noauth2'


def test_the_environment_wins_over_the_file(
    configured: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('OS_PLACEMENT_DATABASE__CONNECTION', 'sqlite:///from-environment')
    monkeypatch.setenv('OS_OSLO_POLICY__ENFORCE_NEW_DEFAULTS', 'false')
    monkeypatch.setenv('OS_DEFAULT__DEBUG', 'true')
    conf = configured(MINIMUM)

    assert conf.placement_database.connection == 'sqlite:///from-environment'
    assert conf.oslo_policy.enforce_new_defaults is False
    assert conf.debug is True


def test_a_named_directory_is_the_only_place_looked_at(
    configured: Load, tmp_path: pathlib.Path
) -> None:
    tmp_path.joinpath('home').mkdir()
    tmp_path.joinpath('home', 'placement.conf').write_text('[api]\nauth_strategy = noauth2\n')
    tmp_path.joinpath('placement.conf.d').mkdir()
    tmp_path.joinpath('placement.conf.d', 'a.conf').write_text('[DEFAULT]\ndebug = true\n')
    conf = configured(MINIMUM)

    assert conf.config_file == [str(tmp_path / 'placement.conf')]
    assert conf.api.auth_strategy == 'keystone'
    assert conf.debug is False


def test_a_named_directory_without_the_file_is_an_error(tmp_path: pathlib.Path) -> None:
    with pytest.raises(placement_conf.Error, match=r'placement\.conf'):
        placement_conf.load(environ={'OS_PLACEMENT_CONFIG_DIR': str(tmp_path)})


@pytest.mark.parametrize('environ', [{}, {'OS_PLACEMENT_CONFIG_DIR': ' '}])
def test_without_a_named_directory_the_usual_places_are_searched(
    tmp_path: pathlib.Path, environ: dict[str, str]
) -> None:
    home = tmp_path / 'home'
    home.joinpath('.placement', 'placement.conf.d').mkdir(parents=True)
    home.joinpath('.placement', 'placement.conf').write_text(MINIMUM)
    home.joinpath('.placement', 'placement.conf.d', 'more.conf').write_text(
        '[api]\nauth_strategy = noauth2\n'
    )
    conf = placement_conf.load(environ=environ)

    assert conf.placement_database.connection == 'sqlite://'
    assert conf.api.auth_strategy == 'noauth2'


def test_each_configuration_is_an_object_of_its_own(configured: Load) -> None:
    first = configured(MINIMUM)
    first.set_override('auth_strategy', 'noauth2', 'api')

    assert configured(MINIMUM).api.auth_strategy == 'keystone'
    assert 'placement_database' not in cfg.CONF


def test_libraries_get_the_defaults_of_the_service(configured: Load) -> None:
    conf = configured(MINIMUM)

    assert conf.oslo_policy.policy_file == 'policy.yaml'
    assert conf.oslo_policy.policy_dirs == ['policy.d']
    assert conf.oslo_policy.enforce_new_defaults is True
    assert conf.oslo_middleware.enable_proxy_headers_parsing is False
    assert 'routes=INFO' in conf.default_log_levels
    assert conf.cors.allowed_origin is None
    assert conf.cors.allow_methods == ['GET', 'PUT', 'POST', 'DELETE', 'PATCH']
    assert 'OpenStack-API-Version' in conf.cors.allow_headers
    assert 'X-Subject-Token' in conf.cors.expose_headers
    assert conf.cors.allow_credentials is True
    assert conf.cors.max_age == 3600


def test_the_defaults_of_libraries_stay_as_they_are_for_others(configured: Load) -> None:
    configured(MINIMUM)
    other = cfg.ConfigOpts()
    other.register_opts(cors.OPTS, 'cors')
    other([], default_config_files=[], default_config_dirs=[])

    assert other.cors.allow_headers == []


def test_the_sample_shows_every_option_and_the_defaults_of_libraries() -> None:
    """Run ``oslo-config-generator`` in another process, since its hook alters libraries."""
    command = [sys.executable, '-m', 'oslo_config.generator']
    for namespace in ('placement.conf', 'oslo.middleware.cors', 'oslo.log'):
        command += ['--namespace', namespace]
    sample = subprocess.run(command, check=True, capture_output=True, text=True).stdout

    names = [option.name for _, options in opts.list_opts() for option in options]
    assert [name for name in names if f'\n#{name} =' not in sample] == []
    assert '#allow_headers = X-Auth-Token,' in sample
    assert ',routes=INFO\n' in sample
    # It does not tell where it was made.
    assert PARENT not in sample
