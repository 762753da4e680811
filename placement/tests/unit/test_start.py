# SPDX-License-Identifier: Apache-2.0
"""Modules loaded by a process that serves requests, in interpreters of their own."""

import subprocess
import sys
import textwrap

import pytest

ENVIRON = """
    import os
    os.environ['OS_PLACEMENT_DATABASE__CONNECTION'] = 'sqlite://'
    os.environ['OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP'] = 'true'
    os.environ['OS_DEFAULT__LOG_FILE'] = os.devnull
"""

START = """
    os.environ['OS_API__AUTH_STRATEGY'] = 'noauth2'
    from placement.wsgi import api
    environ = {'REQUEST_METHOD': 'GET', 'PATH_INFO': '/'}
    answer = b''.join(api.application(environ, lambda status, headers, exception=None: None))
    assert b'versions' in answer
"""

MEMCACHED = """
    import webob
    os.environ['OS_KEYSTONE_AUTHTOKEN__MEMCACHED_SERVERS'] = '127.0.0.1:9'
    from placement.wsgi import api
    request = webob.Request.blank('/traits', headers={'X-Auth-Token': 'token'})
    print(request.get_response(api.application).status_int)
"""


def run(*parts: str) -> subprocess.CompletedProcess[str]:
    """Run lines in a new interpreter."""
    code = '\n'.join(textwrap.dedent(part) for part in (ENVIRON, *parts))
    done = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


PROGRAMS = """
    import placement.cmd.serve
    import placement.direct
    import placement.tests.functional.fixtures.placement
"""


@pytest.mark.parametrize('load', [START, PROGRAMS], ids=['start', 'programs'])
def test_the_service_loads_neither_eventlet_nor_messaging_nor_metrics(load: str) -> None:
    """Import in a new interpreter: users of the fixtures choose the oslo.service backend."""
    heavy = "{'eventlet', 'oslo_messaging', 'oslo_service', 'prometheus_client'}"

    assert run(load, f'import sys; print(sorted({heavy} & sys.modules.keys()))').stdout == '[]\n'


def test_memcached_brings_no_warning_about_eventlet() -> None:
    """Configure memcached, whose library imports eventlet if that is installed."""
    done = run(MEMCACHED)

    assert done.stdout == '503\n'
    assert 'EventletDeprecationWarning' not in done.stderr


@pytest.mark.parametrize(
    'imports',
    [
        'import placement.direct\nimport oslo_messaging\n',
        'import oslo_messaging\nimport placement.direct\n',
        'import oslo_versionedobjects.base\nimport placement.direct\nimport oslo_messaging\n',
    ],
)
def test_a_program_that_uses_messaging_finds_it_whole(imports: str) -> None:
    """Import modules in each order, and compare the classes of serializers."""
    printed = run(
        imports,
        """
        from oslo_messaging import serializer
        from oslo_versionedobjects import base
        print(issubclass(base.VersionedObjectSerializer, oslo_messaging.NoOpSerializer))
        print(serializer.NoOpSerializer is oslo_messaging.NoOpSerializer)
        print(oslo_messaging.get_rpc_transport.__name__)
        """,
    ).stdout

    assert printed == 'True\nTrue\nget_rpc_transport\n'
