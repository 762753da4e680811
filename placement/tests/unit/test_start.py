# SPDX-License-Identifier: Apache-2.0
"""Modules loaded by a process that serves requests, in interpreters of their own."""

import subprocess
import sys
import textwrap

import pytest

START = """
    import os
    os.environ['OS_PLACEMENT_DATABASE__CONNECTION'] = 'sqlite://'
    os.environ['OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP'] = 'true'
    os.environ['OS_API__AUTH_STRATEGY'] = 'noauth2'
    os.environ['OS_DEFAULT__LOG_FILE'] = os.devnull
    from placement.wsgi import api
    environ = {'REQUEST_METHOD': 'GET', 'PATH_INFO': '/'}
    answer = b''.join(api.application(environ, lambda status, headers, exception=None: None))
    assert b'versions' in answer
"""

MEMCACHED = """
    import os
    os.environ['OS_PLACEMENT_DATABASE__CONNECTION'] = 'sqlite://'
    os.environ['OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP'] = 'true'
    os.environ['OS_KEYSTONE_AUTHTOKEN__MEMCACHED_SERVERS'] = '127.0.0.1:9'
    os.environ['OS_DEFAULT__LOG_FILE'] = os.devnull
    import webob
    from placement.wsgi import api
    request = webob.Request.blank('/traits', headers={'X-Auth-Token': 'token'})
    print(request.get_response(api.application).status_int)
"""


def output_of(*parts: str) -> str:
    """Run lines in a new interpreter and return its output, without warnings."""
    code = '\n'.join(textwrap.dedent(part) for part in parts)
    done = subprocess.run(
        [sys.executable, '-W', 'ignore', '-c', code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


PROGRAMS = """
    import placement.cmd.serve
    import placement.direct
    import placement.tests.functional.fixtures.placement
"""


@pytest.mark.parametrize('load', [START, PROGRAMS], ids=['start', 'programs'])
def test_the_service_loads_neither_eventlet_nor_messaging_nor_metrics(load: str) -> None:
    """Whoever imports the fixtures may choose the backend of oslo.service."""
    heavy = "{'eventlet', 'oslo_messaging', 'oslo_service', 'prometheus_client'}"

    assert output_of(load, f'import sys; print(sorted({heavy} & sys.modules.keys()))') == '[]\n'


def test_memcached_brings_no_warning_about_eventlet() -> None:
    """The library that keeps its connections imports eventlet where that is installed."""
    done = subprocess.run(
        [sys.executable, '-c', textwrap.dedent(MEMCACHED)],
        capture_output=True,
        text=True,
        check=True,
    )

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
    """Its serializers are of one class, whoever was imported first."""
    printed = output_of(
        imports,
        """
        from oslo_messaging import serializer
        from oslo_versionedobjects import base
        print(issubclass(base.VersionedObjectSerializer, oslo_messaging.NoOpSerializer))
        print(serializer.NoOpSerializer is oslo_messaging.NoOpSerializer)
        print(oslo_messaging.get_rpc_transport.__name__)
        """,
    )

    assert printed == 'True\nTrue\nget_rpc_transport\n'
