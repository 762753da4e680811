# SPDX-License-Identifier: Apache-2.0
"""The tools of oslo.config and oslo.policy, as deployers call them."""

import configparser
import os
import pathlib
import re
import subprocess
import sys
from typing import Any

import pytest
from oslo_config import cfg

from placement import conf as placement_conf
from placement import deploy, policies
from placement.microversions import NEWEST
from placement.tests.functional.fixtures import applications
from placement.tests.functional.fixtures.client import Client
from placement.tests.unit.conf import deployed

REPOSITORY = applications.repository_path('.').resolve()
GENERATOR = REPOSITORY / 'etc' / 'placement' / 'config-generator.conf'

# Every group of options, as installers write them (specification: configuration, "Options").
REAL_WORLD = """
[DEFAULT]
debug = False
log_dir = /var/log/placement
use_syslog = False
state_path = /var/lib/placement
tempdir = /var/tmp

[api]
auth_strategy = keystone

[placement]
randomize_allocation_candidates = true
max_allocation_candidates = 1000
allocation_candidates_generation_strategy = breadth-first
allocation_conflict_retry_count = 10
incomplete_consumer_project_id = 00000000-0000-0000-0000-000000000000
incomplete_consumer_user_id = 00000000-0000-0000-0000-000000000000

[workarounds]
optimize_for_wide_provider_trees = true

[placement_database]
connection = mysql+pymysql://placement:secret@controller/placement?charset=utf8
slave_connection = mysql+pymysql://placement:secret@replica/placement?charset=utf8
connection_recycle_time = 3600
connection_parameters =
connection_debug = 0
connection_trace = False
max_pool_size = 10
max_overflow = 50
max_retries = -1
mysql_sql_mode = TRADITIONAL
pool_timeout = 30
retry_interval = 10
sqlite_synchronous = True
sync_on_startup = False

[keystone_authtoken]
www_authenticate_uri = http://controller:5000
auth_url = http://controller:5000
memcached_servers = controller:11211
auth_type = password
project_domain_name = Default
user_domain_name = Default
project_name = service
username = placement
password = secret
service_token_roles = service
service_token_roles_required = True
region_name = RegionOne

[oslo_policy]
policy_file = policy.yaml
policy_dirs = policy.d
enforce_new_defaults = True

[oslo_middleware]
enable_proxy_headers_parsing = True

[healthcheck]
backends = disable_by_file
disable_by_file_path = /etc/placement/out-of-service

[cors]
allowed_origin = https://horizon.example
"""

# What other tools leave behind, and what is for libraries that may not be installed.
FOREIGN = """
[oslo_messaging_rabbit]
amqp_durable_queues = true

[of_somebody_else]
unheard_of = 1
"""


@pytest.fixture(scope='module')
def directory(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A configuration directory."""
    directory = tmp_path_factory.mktemp('placement')
    directory.joinpath('placement.conf').write_text(REAL_WORLD + FOREIGN)
    return directory


def run(directory: pathlib.Path, tool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run one of the tools in an environment that names the directory alone."""
    command = [str(pathlib.Path(sys.executable).parent / tool), *arguments]
    environ = {
        'PATH': os.environ['PATH'],
        'HOME': str(directory),
        'OS_PLACEMENT_CONFIG_DIR': str(directory),
    }
    return subprocess.run(command, capture_output=True, text=True, env=environ, cwd=directory)


@pytest.fixture(scope='module')
def sample(directory: pathlib.Path) -> configparser.ConfigParser:
    """The whole sample configuration, every option in it set."""
    output = directory / 'placement.conf.sample'
    done = run(
        directory, 'oslo-config-generator', '--config-file', str(GENERATOR),
        '--output-file', str(output),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    parser = configparser.ConfigParser(interpolation=None, strict=False, default_section='-')
    parser.read_string(re.sub(r'(?m)^#([a-z_]\w* =)', r'\1', output.read_text()))
    return parser


def test_a_real_configuration_is_valid(directory: pathlib.Path) -> None:
    path = directory / 'real.conf'
    path.write_text(REAL_WORLD)

    done = run(
        directory, 'oslo-config-validator', '--config-file', str(GENERATOR),
        '--input-file', str(path),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize('tool', deployed.FILES)
def test_a_file_of_a_deployment_tool_is_valid(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    path = tmp_path / 'placement.conf'
    path.write_text(deployed.FILES[tool])

    done = run(
        tmp_path, 'oslo-config-validator', '--config-file', str(GENERATOR),
        '--input-file', str(path),
    )  # fmt: skip
    assert (done.returncode, 'ERROR' in done.stderr, 'WARNING' in done.stderr) == (
        0, False, False,
    ), done.stderr  # fmt: skip
    placement_conf.load(environ={'OS_PLACEMENT_CONFIG_DIR': str(tmp_path)})


def test_a_mistake_in_such_a_group_is_found(tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'placement.conf'
    path.write_text('[cache]\nbackends = x\n')

    done = run(
        tmp_path, 'oslo-config-validator', '--config-file', str(GENERATOR),
        '--input-file', str(path),
    )  # fmt: skip
    assert done.returncode != 0
    assert 'cache/backends' in done.stderr


def test_sections_of_others_are_for_the_operator_to_name(directory: pathlib.Path) -> None:
    names = re.findall(r'^\[(\w+)\]', FOREIGN, re.MULTILINE)
    excluded = [word for name in names for word in ('--exclude-group', name)]

    done = run(
        directory, 'oslo-config-validator', '--config-file', str(GENERATOR),
        '--input-file', str(directory / 'placement.conf'), *excluded,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_service_does_not_mind_sections_of_others(directory: pathlib.Path) -> None:
    conf = placement_conf.load(environ={'OS_PLACEMENT_CONFIG_DIR': str(directory)})

    assert conf.placement.max_allocation_candidates == 1000


def test_whatever_is_read_is_in_the_sample(
    sample: configparser.ConfigParser,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: pathlib.Path,
) -> None:
    asked = set()
    found = cfg.ConfigOpts._get

    def note(self: Any, name: str, group: Any = None, namespace: Any = None) -> Any:
        value = found(self, name, group, namespace)
        if not isinstance(value, cfg.ConfigOpts.GroupAttr):
            asked.add((getattr(group, 'name', group) or 'DEFAULT', name))
        return value

    # The check at start reads everything: what is of interest comes after.
    url = f'sqlite:///{tmp_path}/placement.sqlite'
    tmp_path.joinpath('placement.conf').write_text(f'[placement_database]\nconnection = {url}\n')
    for strategy in ('keystone', 'noauth2'):
        conf = placement_conf.load(environ={'OS_PLACEMENT_CONFIG_DIR': str(tmp_path)})
        monkeypatch.setattr(cfg.ConfigOpts, '_get', note)
        conf.set_override('auth_strategy', strategy, 'api')
        conf.set_override('sync_on_startup', True, 'placement_database')
        service = Client(deploy.loadapp(conf))
        service.send('GET', '/allocation_candidates?resources=VCPU:1', version=NEWEST)
        service.send('GET', '/healthcheck')

    assert {('placement_database', 'connection'), ('api', 'auth_strategy')} <= asked
    # The files of the configuration itself are named on the command line.
    names = ('config_file', 'config_dir', 'config_source', 'shell_completion')
    asked -= {('DEFAULT', name) for name in names}
    assert [read for read in sorted(asked) if not sample.has_option(*read)] == []


@pytest.mark.parametrize('tool', ['oslopolicy-sample-generator', 'oslopolicy-policy-generator'])
def test_a_policy_tool_shows_every_rule(directory: pathlib.Path, tool: str) -> None:
    done = run(directory, tool, '--namespace', 'placement')

    assert done.returncode == 0, done.stderr
    names = [rule.name for rule in policies.list_rules()]
    assert [name for name in names if f'"{name}":' not in done.stdout] == []


def test_a_policy_tool_finds_what_is_wrong_and_what_is_superfluous(
    directory: pathlib.Path,
) -> None:
    policy = directory / 'policy.yaml'
    policy.write_text('"placement:traits:list": "rule:admin_or_service_api"\n')
    redundant = run(directory, 'oslopolicy-list-redundant', '--namespace', 'placement')
    assert '"placement:traits:list"' in redundant.stdout, redundant.stderr
    assert run(directory, 'oslopolicy-validator', '--namespace', 'placement').returncode == 0

    policy.write_text('"placement:traits:list": "rule:unheard_of"\n')
    assert run(directory, 'oslopolicy-validator', '--namespace', 'placement').returncode != 0
    policy.unlink()


def test_loggers_have_names_below_that_of_the_service() -> None:
    package = REPOSITORY / 'placement'
    names = {
        name
        for path in package.rglob('*.py')
        if 'tests' not in path.parts
        for name in re.findall(
            r'^LOG = logging.getLogger\((.*?)\)', path.read_text(), re.MULTILINE
        )
    }

    assert {name for name in names if not name.startswith("'placement.")} == {'__name__'}


def test_a_line_of_the_log_has_the_format_that_all_services_share(
    tmp_path: pathlib.Path,
) -> None:
    load = (
        'import os; os.environ["OS_PLACEMENT_DATABASE__CONNECTION"] = "sqlite://";'
        'os.environ["OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP"] = "true";'
        'os.environ["OS_API__AUTH_STRATEGY"] = "noauth2";'
        'os.environ["OS_DEFAULT__DEBUG"] = "true";'
        'from placement import wsgi; from placement.tests.functional.fixtures import client;'
        'client.Client(wsgi.init_application()).send("GET", "/traits", version="1.6")'
    )
    tmp_path.joinpath('placement.conf').touch()
    done = run(tmp_path, 'python', '-c', load)

    line = (
        r'^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \d+ INFO placement\.requestlog '
        r'\[None req-[0-9a-f-]{36} admin admin - - - -\] 192\.0\.2\.1 "GET /traits" status: 200 '
    )
    assert re.search(line, done.stdout, re.MULTILINE), done.stderr[-2000:]
    assert re.search('DEBUG placement.wsgi .*placement_database.connection += \\*{4}', done.stdout)
