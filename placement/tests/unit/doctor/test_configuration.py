# SPDX-License-Identifier: Apache-2.0
"""Where the configuration comes from, and what is wrong with it."""

import dataclasses
import os
import pathlib

import pytest

from placement import conf as placement_conf
from placement.conf import ConfigOpts
from placement.doctor import configuration, identity
from placement.doctor.account import Account
from placement.doctor.deployment import Deployment
from placement.doctor.result import Status
from placement.tests.unit.doctor.conftest import Configure

DATABASE = '[placement_database]\nconnection = mysql+pymysql://placement:secret@db/placement\n'


def test_files_and_variables_are_named_without_values(
    configure: Configure, directory: pathlib.Path
) -> None:
    deployment = configure(DATABASE, OS_API__AUTH_STRATEGY='noauth2', OS_TOKEN='unrelated')

    result = configuration.check_files(deployment)

    assert result.status is Status.OK
    assert result.found == f'Read: {directory}/placement.conf, OS_API__AUTH_STRATEGY.'


def test_files_of_directories_are_named(
    configure: Configure, directory: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = directory / '.placement' / 'placement.conf.d'
    parts.mkdir(parents=True)
    for name in ('20-b.conf', '10-a.conf', 'ignored.txt'):
        (parts / name).write_text('[api]\nauth_strategy = noauth2\n')

    result = configuration.check_files(configure(DATABASE))

    assert result.found == (
        f'Read: {directory}/placement.conf, {parts}/10-a.conf, {parts}/20-b.conf.'
    )


def test_no_configuration_is_a_failure(
    directory: pathlib.Path, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    like = configure()
    conf = ConfigOpts()
    placement_conf.register_opts(conf)
    with pytest.raises(placement_conf.RequiredOptError):
        conf([], project='placement', default_config_files=[], default_config_dirs=[])

    result = configuration.check_files(dataclasses.replace(like, conf=conf, environ={}))

    assert result.status is Status.FAILURE
    assert result.found == 'No file was found, and no environment variable sets an option.'


def test_file_that_the_web_application_does_not_read_is_a_warning(configure: Configure) -> None:
    deployment = configure(DATABASE, OS_PLACEMENT_CONFIG_DIR='/etc/other')

    result = configuration.check_files(deployment)

    assert result.status is Status.WARNING
    assert 'the web application reads /etc/other/placement.conf' in result.found
    assert result.remedy == 'Give the commands --config-file /etc/other/placement.conf.'


def test_file_that_the_service_may_not_read_is_a_failure(
    configure: Configure, directory: pathlib.Path, stranger: Account
) -> None:
    deployment = dataclasses.replace(configure(DATABASE), account=stranger)
    (directory / 'placement.conf').chmod(0o600 if os.geteuid() == 0 else 0)

    result = configuration.check_files(deployment)

    assert result.status is Status.FAILURE
    assert result.found == f'The user {stranger.name} may not read {directory}/placement.conf.'


def test_values_that_are_understood_pass(configure: Configure) -> None:
    assert configuration.check_values(configure(DATABASE)).status is Status.OK


def test_missing_connection_is_a_failure(configure: Configure) -> None:
    result = configuration.check_values(configure())

    assert result.status is Status.FAILURE
    assert result.found == '[placement_database] connection is not set.'


def test_every_wrong_value_is_named(configure: Configure) -> None:
    result = configuration.check_values(
        configure(f'{DATABASE}max_retries = many\n[placement]\nsearch_budget = -1\n')
    )

    assert result.status is Status.FAILURE
    assert '[placement_database] max_retries: ' in result.found
    assert '[placement] search_budget: ' in result.found


@pytest.mark.parametrize(
    ('text', 'found'),
    [
        (
            '[placement]\nrandomise_allocation_candidates = true\n',
            'randomise_allocation_candidates (did you mean randomize_allocation_candidates?)',
        ),
        ('[placement]\nsomething_else = 1\n', '[placement] something_else'),
        ('[placement_databse]\nretries = 1\n', '[placement_databse] (did you mean'),
        ('[keystone_authtoken]\nmemcached_server = a:1\n', '(did you mean memcached_servers?)'),
    ],
)
def test_mistakes_in_typing_are_named(configure: Configure, text: str, found: str) -> None:
    result = configuration.check_names(configure(text))

    assert result.status is Status.WARNING
    assert found in result.found


@pytest.mark.parametrize(
    'text',
    [
        '[DEFAULT]\nauth_strategy = keystone\nlogfile = x\ntransport_url = rabbit://\n',
        '[oslo_concurrency]\nlock_path = /var/lock\n[cache]\nbackend = x\n[profiler]\na = b\n',
        '[keystone_authtoken]\nusername = a\nmemcache_servers = a:1\nregion-name = x\n',
        '[placement]\nallocation-conflict-retry-count = 1\n',
    ],
)
def test_options_of_others_and_old_names_are_no_mistakes(configure: Configure, text: str) -> None:
    assert configuration.check_names(configure(text)).status is Status.OK


@pytest.mark.parametrize(
    ('size', 'overflow', 'status'),
    [(2, 1, Status.WARNING), (4, 0, Status.OK), (1, -1, Status.OK), (0, 0, None)],
)
def test_small_pool_is_a_warning(
    configure: Configure, size: int, overflow: int, status: Status | None
) -> None:
    text = f'{DATABASE}max_pool_size = {size}\nmax_overflow = {overflow}\n'

    result = configuration.check_pool(configure(text))

    assert (result and result.status) is status


def test_pool_of_the_default_size_is_not_looked_at(configure: Configure) -> None:
    assert configuration.check_pool(configure(DATABASE)) is None


def test_deployment_has_the_options_of_the_token_library(configure: Configure) -> None:
    deployment: Deployment = configure('[keystone_authtoken]\nmemcached_servers = a:1,b:2\n')

    assert deployment.conf[identity.GROUP].memcached_servers == ['a:1', 'b:2']
