# SPDX-License-Identifier: Apache-2.0
"""Every option, and where values come from (specification: configuration)."""

import pathlib
import subprocess
import sys
from collections.abc import Callable

import pytest
from oslo_config import cfg
from oslo_middleware import cors

from placement import conf as placement_conf
from placement.conf import opts

NOBODY = '00000000-0000-0000-0000-000000000000'
PARENT = str(pathlib.Path(placement_conf.__file__).parents[2])

Load = Callable[..., cfg.ConfigOpts]

# Group, option, kind, default.
OPTIONS: list[tuple[str, str, type[cfg.Opt], object]] = [
    ('DEFAULT', 'tempdir', cfg.StrOpt, None),
    ('DEFAULT', 'pybasedir', cfg.StrOpt, PARENT),
    ('DEFAULT', 'state_path', cfg.StrOpt, PARENT),
    ('DEFAULT', 'log_options', cfg.BoolOpt, True),
    ('api', 'auth_strategy', cfg.StrOpt, 'keystone'),
    ('placement', 'randomize_allocation_candidates', cfg.BoolOpt, False),
    ('placement', 'incomplete_consumer_project_id', cfg.StrOpt, NOBODY),
    ('placement', 'incomplete_consumer_user_id', cfg.StrOpt, NOBODY),
    ('placement', 'allocation_conflict_retry_count', cfg.IntOpt, 10),
    ('placement', 'max_allocation_candidates', cfg.IntOpt, -1),
    # The default differs from upstream's on purpose: candidates come from many hosts.
    ('placement', 'allocation_candidates_generation_strategy', cfg.StrOpt, 'breadth-first'),
    # Options of our own, which upstream does not have.
    ('api', 'noauth2_allowed_hosts', cfg.ListOpt, []),
    ('placement', 'max_request_body_size', cfg.IntOpt, 16 << 20),
    ('server', 'max_connections', cfg.IntOpt, 5000),
    ('server', 'max_header_size', cfg.IntOpt, 32 << 10),
    ('server', 'header_timeout', cfg.IntOpt, 20),
    ('server', 'body_timeout', cfg.IntOpt, 60),
    ('server', 'keep_alive_timeout', cfg.IntOpt, 120),
    ('server', 'answer_timeout', cfg.IntOpt, 60),
    ('server', 'stop_timeout', cfg.IntOpt, 20),
    ('placement', 'candidate_snapshot', cfg.StrOpt, 'cached'),
    ('placement', 'slow_request_seconds', cfg.FloatOpt, 5.0),
    ('placement', 'search_budget', cfg.IntOpt, 1_500_000),
    ('placement', 'change_feed_max_ids', cfg.IntOpt, 100_000),
    ('placement', 'candidate_snapshot_audit_interval', cfg.IntOpt, 300),
    ('placement', 'log_searches', cfg.StrOpt, 'empty'),
    ('insight', 'allocation_candidates', cfg.BoolOpt, True),
    ('insight', 'capacity', cfg.BoolOpt, True),
    ('insight', 'cloud', cfg.BoolOpt, True),
    ('insight', 'unmet_demand', cfg.BoolOpt, True),
    ('metrics', 'aggregate_names_file', cfg.StrOpt, None),
    ('metrics', 'directory', cfg.StrOpt, '/run/placement/metrics'),
    ('metrics', 'enabled', cfg.BoolOpt, False),
    ('metrics', 'per_provider', cfg.BoolOpt, False),
    ('metrics', 'requests_file', cfg.StrOpt, None),
    ('metrics', 'under_api', cfg.BoolOpt, True),
    ('ui', 'enabled', cfg.BoolOpt, False),
    ('history', 'enabled', cfg.BoolOpt, False),
    ('history', 'retention_days', cfg.IntOpt, 30),
    ('history', 'max_rows', cfg.IntOpt, 10_000_000),
    ('workarounds', 'optimize_for_wide_provider_trees', cfg.BoolOpt, False),
    ('placement_database', 'connection_parameters', cfg.StrOpt, ''),
    ('placement_database', 'sqlite_synchronous', cfg.BoolOpt, True),
    ('placement_database', 'slave_connection', cfg.StrOpt, None),
    ('placement_database', 'mysql_sql_mode', cfg.StrOpt, 'TRADITIONAL'),
    ('placement_database', 'connection_recycle_time', cfg.IntOpt, 3600),
    ('placement_database', 'max_pool_size', cfg.IntOpt, None),
    ('placement_database', 'max_retries', cfg.IntOpt, 10),
    ('placement_database', 'retry_interval', cfg.IntOpt, 10),
    ('placement_database', 'max_overflow', cfg.IntOpt, None),
    ('placement_database', 'connection_debug', cfg.IntOpt, 0),
    ('placement_database', 'connection_trace', cfg.BoolOpt, False),
    ('placement_database', 'pool_timeout', cfg.IntOpt, None),
    ('placement_database', 'connect_timeout', cfg.IntOpt, 10),
    ('placement_database', 'response_timeout', cfg.IntOpt, 30),
    ('placement_database', 'lock_timeout', cfg.IntOpt, 20),
    ('placement_database', 'sync_on_startup', cfg.BoolOpt, False),
]


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """No configuration but that of the test: an empty home, no variables."""
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


@pytest.mark.parametrize(('group', 'name', 'kind', 'default'), OPTIONS)
def test_an_option_has_its_type_and_default(
    configured: Load, group: str, name: str, kind: type, default: object
) -> None:
    conf = configured(MINIMUM)
    place = conf if group == 'DEFAULT' else conf[group]
    declared = dict(declarations())

    assert place[name] == default
    assert type(declared[group, name]) is kind


def declarations() -> list[tuple[tuple[str, str], cfg.Opt]]:
    return [
        ((str(group), option.name), option)
        for group, options in opts.list_opts()
        for option in options
    ]


def test_there_are_no_other_options() -> None:
    known = {(group, name) for group, name, _, _ in OPTIONS}

    assert {key for key, _ in declarations()} - known == {('placement_database', 'connection')}


def test_every_option_has_help() -> None:
    assert [key for key, option in declarations() if not (option.help or '').strip()] == []


def test_connections_are_secret() -> None:
    secret = {key for key, option in declarations() if option.secret}

    assert secret == {
        ('placement_database', 'connection'),
        ('placement_database', 'slave_connection'),
    }


def test_without_a_connection_nothing_is_loaded(configured: Load) -> None:
    with pytest.raises(cfg.RequiredOptError, match=r'connection in group \[placement_database\]'):
        configured('[api]\nauth_strategy = noauth2\n')


@pytest.mark.parametrize(
    'line',
    [
        '[api]\nauth_strategy = basic',
        '[placement]\nallocation_candidates_generation_strategy = random',
        '[placement]\nmax_allocation_candidates = many',
    ],
)
def test_a_value_that_is_none_of_the_choices_is_refused(configured: Load, line: str) -> None:
    with pytest.raises(placement_conf.Error, match=line.split(' ')[-1]):
        configured(f'{MINIMUM}{line}\n')


def test_both_strategies_of_generation_are_accepted(configured: Load) -> None:
    for name in ('depth-first', 'breadth-first'):
        conf = configured(
            f'{MINIMUM}[placement]\nallocation_candidates_generation_strategy = {name}\n'
        )
        assert conf.placement.allocation_candidates_generation_strategy == name


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


@pytest.fixture(scope='module')
def sample() -> str:
    """What ``oslo-config-generator`` prints; its hook alters libraries, so not in this process."""
    command = [sys.executable, '-m', 'oslo_config.generator']
    for namespace in ('placement.conf', 'oslo.middleware.cors', 'oslo.log'):
        command += ['--namespace', namespace]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize('name', [name for _, name, _, _ in OPTIONS])
def test_the_sample_shows_every_option(sample: str, name: str) -> None:
    assert f'\n#{name} =' in sample


def test_the_sample_shows_the_defaults_of_libraries(sample: str) -> None:
    assert '#allow_headers = X-Auth-Token,' in sample
    assert ',routes=INFO\n' in sample


def test_the_sample_does_not_tell_where_it_was_made(sample: str) -> None:
    assert PARENT not in sample
