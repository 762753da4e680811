# SPDX-License-Identifier: Apache-2.0
"""The program of the page "Following the cloud" runs as it is there."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator

import pytest

from placement.microversions import NEWEST

from .fixtures import applications, clouds, workers
from .fixtures.clouds import uuid_of
from .fixtures.workload import HttpClient

PAGE = applications.repository_path('doc/source/following-the-cloud.rst')


def program() -> str:
    """The Python of the page."""
    _before, _, after = PAGE.read_text().partition('.. code-block:: python\n\n')
    lines = []
    for line in after.splitlines():
        if line and not line.startswith(' '):
            break
        lines.append(line)
    return textwrap.dedent('\n'.join(lines))


@pytest.fixture
def port(url: str) -> Iterator[int]:
    with workers.running(url, 2) as running:
        yield running.port


def test_the_program_of_the_page_prints_what_changes(port: int) -> None:
    client = HttpClient(port)
    environ = {'PLACEMENT_ENDPOINT': f'http://127.0.0.1:{port}/', 'OS_TOKEN': 'admin'}
    process = subprocess.Popen(
        [sys.executable, '-c', program()],
        stdout=subprocess.PIPE,
        env=os.environ | environ,
        text=True,
    )
    assert process.stdout is not None
    lines = []
    try:
        with process.stdout as output:
            lines.append(output.readline())
            path = f'/resource_providers/{uuid_of("host")}'
            body = {'name': 'host', 'uuid': uuid_of('host')}
            assert client.send('POST', '/resource_providers', body, NEWEST).status == 200
            lines.append(output.readline())
            inventory = {'resource_class': 'VCPU', 'total': 8, 'resource_provider_generation': 0}
            assert client.send('POST', f'{path}/inventories', inventory, NEWEST).status == 201
            claim = clouds.claim({uuid_of('host'): {'VCPU': 3}})
            allocations = f'/allocations/{uuid_of("server")}'
            assert client.send('PUT', allocations, claim, NEWEST).status == 204
            lines.append(output.readline())
            assert client.send('DELETE', allocations, None, NEWEST).status == 204
            lines.append(output.readline())
            assert client.send('DELETE', path, None, NEWEST).status == 204
            lines.append(output.readline())
    finally:
        process.kill()
        process.wait()

    assert lines == [
        '0 providers, 0 VCPU used\n',
        '1 providers, 0 VCPU used\n',
        '1 providers, 3 VCPU used\n',
        '1 providers, 0 VCPU used\n',
        '0 providers, 0 VCPU used\n',
    ]
