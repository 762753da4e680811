# SPDX-License-Identifier: Apache-2.0
"""The tools of oslo.config and oslo.policy, as deployers call them."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from placement import policies
from placement.tests.functional.fixtures import applications

REPOSITORY = applications.repository_path('.').resolve()
GENERATOR = REPOSITORY / 'etc' / 'placement' / 'config-generator.conf'

# What kolla-ansible, OpenStack-Ansible and OpenStack-Helm write for libraries. The options of the
# service are compared in test_specification (specification: configuration, "Options").
REAL_WORLD = """
[DEFAULT]
log_config_append = /etc/placement/logging.conf
log_dir = /var/log/placement
log_file = placement-api.log
use_journal = False
use_syslog = False

[placement_database]
connection = mysql+pymysql://placement:secret@controller/placement?charset=utf8

[keystone_authtoken]
www_authenticate_uri = http://controller:5000
auth_url = http://controller:5000
auth_version = v3
cafile = /etc/ssl/certs/ca-certificates.crt
insecure = False
memcached_servers = controller:11211
memcache_security_strategy = ENCRYPT
memcache_secret_key = secret
auth_type = password
project_domain_id = default
project_domain_name = Default
user_domain_id = default
user_domain_name = Default
project_name = service
username = placement
password = secret
service_token_roles = service
service_token_roles_required = True
service_type = placement
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

[cache]
backend = oslo_cache.memcache_pool
enabled = true
memcache_servers = 192.0.2.2:11211,192.0.2.3:11211

[oslo_concurrency]
lock_path = /var/lib/placement/tmp

[oslo_messaging_notifications]
driver = noop

[profiler]
enabled = true
trace_sqlalchemy = true
hmac_keys = secret
connection_string = redis://192.0.2.4:6379
"""


def run(directory: pathlib.Path, tool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run one of the tools in an environment that names the directory alone."""
    command = [str(pathlib.Path(sys.executable).parent / tool), *arguments]
    (directory / 'placement.conf').touch()
    environ = {
        'PATH': os.environ['PATH'],
        'HOME': str(directory),
        'OS_PLACEMENT_CONFIG_DIR': str(directory),
    }
    return subprocess.run(command, capture_output=True, text=True, env=environ, cwd=directory)


def validate(directory: pathlib.Path, text: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Run the validator for the text of a configuration file."""
    path = directory / 'placement.conf'
    path.write_text(text)
    words = ('--config-file', str(GENERATOR), '--input-file', str(path), *more)
    return run(directory, 'oslo-config-validator', *words)


def test_a_real_configuration_is_valid(tmp_path: pathlib.Path) -> None:
    done = validate(tmp_path, REAL_WORLD)

    assert done.returncode == 0, done.stderr
    assert 'ERROR' not in done.stderr
    assert 'WARNING' not in done.stderr


def test_a_mistake_in_such_a_group_is_found(tmp_path: pathlib.Path) -> None:
    done = validate(tmp_path, '[cache]\nbackends = x\n')

    assert done.returncode != 0
    assert 'cache/backends' in done.stderr


@pytest.mark.parametrize('tool', ['oslopolicy-sample-generator', 'oslopolicy-policy-generator'])
def test_a_policy_tool_shows_every_rule(tmp_path: pathlib.Path, tool: str) -> None:
    done = run(tmp_path, tool, '--namespace', 'placement')

    assert done.returncode == 0, done.stderr
    names = [rule.name for rule in policies.list_rules()]
    assert [name for name in names if f'"{name}":' not in done.stdout] == []


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
    done = run(tmp_path, 'python', '-c', load)

    line = (
        r'^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \d+ INFO placement\.requestlog '
        r'\[None req-[0-9a-f-]{36} admin admin - - - -\] 192\.0\.2\.1 "GET /traits" status: 200 '
    )
    assert re.search(line, done.stdout, re.MULTILINE), done.stderr[-2000:]
    assert re.search('DEBUG placement.wsgi .*placement_database.connection += \\*{4}', done.stdout)
