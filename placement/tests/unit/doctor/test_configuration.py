# SPDX-License-Identifier: Apache-2.0
"""Sources of the configuration, and faults in it."""

import dataclasses
import os
import pathlib
import pwd

import pytest

from placement import conf as placement_conf
from placement.conf import ConfigOpts
from placement.doctor import configuration
from placement.doctor.check import Check, Code
from placement.tests.unit.doctor.conftest import Configure, expect

DATABASE = '[placement_database]\nconnection = mysql+pymysql://placement:secret@db/placement\n'


def test_files_and_variables_are_named_without_values(
    configure: Configure, directory: pathlib.Path
) -> None:
    parts = directory / '.placement' / 'placement.conf.d'
    parts.mkdir(parents=True)
    for name in ('20-b.conf', '10-a.conf', 'ignored.txt'):
        (parts / name).write_text('[placement]\nsearch_budget = 1000\n')
    deployment = configure(DATABASE, OS_API__AUTH_STRATEGY='noauth2', OS_TOKEN='unrelated')

    result = configuration.check_files(deployment)

    assert result.finding == (
        f'Read: {directory}/placement.conf, {parts}/10-a.conf, {parts}/20-b.conf, '
        'OS_API__AUTH_STRATEGY.'
    )


def test_no_configuration_is_a_failure(configure: Configure) -> None:
    like = configure()
    conf = ConfigOpts()
    placement_conf.register_opts(conf)
    with pytest.raises(placement_conf.RequiredOptError):
        conf([], project='placement', default_config_files=[], default_config_dirs=[])

    result = configuration.check_files(dataclasses.replace(like, conf=conf, environ={}))

    expect(result, Code.FAILURE, 'No file was found, and no environment variable sets an option.')


def test_file_that_the_web_application_does_not_read_is_a_warning(configure: Configure) -> None:
    deployment = configure(DATABASE, OS_PLACEMENT_CONFIG_DIR='/etc/other')

    expect(
        configuration.check_files(deployment),
        Code.WARNING,
        'the web application reads /etc/other/placement.conf',
        'Give the commands --config-file /etc/other/placement.conf.',
    )


@pytest.mark.parametrize(
    ('name', 'check'),
    [
        ('placement.conf', configuration.check_files),
        ('policy.yaml', configuration.check_policies),
    ],
)
def test_file_that_the_service_may_not_read_is_a_failure(
    configure: Configure,
    directory: pathlib.Path,
    stranger: pwd.struct_passwd,
    name: str,
    check: Check,
) -> None:
    (directory / 'policy.yaml').touch()
    deployment = dataclasses.replace(configure(DATABASE), account=stranger)
    (directory / name).chmod(0o600 if os.geteuid() == 0 else 0)

    words = f'The user {stranger.pw_name} may not read {directory}/{name}.'
    expect(check(deployment), Code.FAILURE, words)


@pytest.mark.parametrize(
    ('text', 'code', 'words'),
    [
        ('placement:traits:list: "role:reader"', Code.SUCCESS, 'Read: '),
        ('a: "rule:b"\nb: "rule:a"', Code.FAILURE, ''),
        ('placement:traits:list: [role:reader', Code.FAILURE, ''),
        ('- a\n- b', Code.FAILURE, ''),
        (
            'placement:traits:lst: "@"',
            Code.WARNING,
            'rule placement:traits:lst does not exist',
        ),
        ('placement:traits:list: "rule:unknown"', Code.WARNING, 'reference a rule that is not'),
        ('placement:traits:list: "role:a or or"', Code.WARNING, 'role:a or or'),
    ],
)
def test_faults_of_a_policy_file_are_named(
    configure: Configure, directory: pathlib.Path, text: str, code: Code, words: str
) -> None:
    (directory / 'policy.yaml').write_text(text)

    expect(configuration.check_policies(configure()), code, f'{directory}/policy.yaml', words)


OPTION, UNKNOWN = '[placement] randomise_allocation_candidates', '[placement] something_else'
GROUP = '[placement_databse] (did you mean [placement_database]?)'
SERVERS = '[keystone_authtoken] memcached_server (did you mean memcached_servers?)'
VALUES, NAMES, POOL = (
    configuration.check_values, configuration.check_names, configuration.check_pool
)  # fmt: skip


@pytest.mark.parametrize(
    ('check', 'text', 'code', 'words'),
    [
        (configuration.check_policies, '', Code.SUCCESS, ['There are none; the defaults are']),
        (VALUES, DATABASE, Code.SUCCESS, []),
        (VALUES, '', Code.FAILURE, ['[placement_database] connection is not set.']),
        (
            VALUES,
            f'{DATABASE}max_retries = many\n[placement]\nsearch_budget = -1\n',
            Code.FAILURE,
            ['[placement_database] max_retries: ', '[placement] search_budget: '],
        ),
        (NAMES, '[placement]\nrandomise_allocation_candidates = true', Code.WARNING, [OPTION]),
        (NAMES, '[placement]\nsomething_else = 1\n', Code.WARNING, [UNKNOWN]),
        (NAMES, '[placement_databse]\nretries = 1\n', Code.WARNING, [GROUP]),
        (NAMES, '[keystone_authtoken]\nmemcached_server = a:1\n', Code.WARNING, [SERVERS]),
        # Options of other services, and old names.
        (NAMES, '[DEFAULT]\nlogfile = x\ntransport_url = rabbit://\n', Code.SUCCESS, []),
        (NAMES, '[oslo_concurrency]\nlock_path = /var/lock\n[cache]\na = b\n', Code.SUCCESS, []),
        (NAMES, '[keystone_authtoken]\nmemcache_servers = a:1\n', Code.SUCCESS, []),
        (NAMES, '[placement]\nallocation-conflict-retry-count = 1\n', Code.SUCCESS, []),
        (POOL, f'{DATABASE}max_pool_size = 2\nmax_overflow = 1\n', Code.WARNING, []),
        (POOL, f'{DATABASE}max_pool_size = 4\nmax_overflow = 0\n', Code.SUCCESS, []),
        (POOL, f'{DATABASE}max_pool_size = 1\nmax_overflow = -1\n', Code.SUCCESS, []),
    ],
)
def test_faults_of_values_and_names_are_named(
    configure: Configure, check: Check, text: str, code: Code, words: list[str]
) -> None:
    expect(check(configure(text)), code, *words)


@pytest.mark.parametrize('text', ['', 'max_pool_size = 0\nmax_overflow = 0\n'])
def test_pool_without_a_limit_is_not_looked_at(configure: Configure, text: str) -> None:
    assert configuration.check_pool(configure(f'{DATABASE}{text}')) is None
