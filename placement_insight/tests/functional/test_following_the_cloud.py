# SPDX-License-Identifier: Apache-2.0
"""The program of the page "Following the cloud" runs as it is there."""

import os
import subprocess
import sys

from docutils import nodes

from placement.microversions import NEWEST
from placement.tests.functional.fixtures import applications, clouds, workers
from placement.tests.functional.fixtures.clouds import uuid_of
from placement.tests.functional.fixtures.workload import HttpClient
from placement.tests.unit import samples

PAGE = applications.repository_path('doc/source/following-the-cloud.rst')


def program() -> str:
    """The Python of the page."""
    tree, _complaints = samples.parse_page(PAGE.read_text())
    (block,) = (one for one in tree.findall(nodes.literal_block) if 'python' in one['classes'])
    return block.astext()


def test_the_program_of_the_page_prints_what_changes(url: str) -> None:
    provider = f'/resource_providers/{uuid_of("host")}'
    allocations = f'/allocations/{uuid_of("server")}'
    claim = clouds.claim({uuid_of('host'): {'VCPU': 3}})
    host = {'name': 'host', 'uuid': uuid_of('host')}
    changes = (
        ('PUT', allocations, claim, '1 providers, 3 VCPU used\n'),
        ('DELETE', allocations, None, '1 providers, 0 VCPU used\n'),
        ('DELETE', provider, None, '0 providers, 0 VCPU used\n'),
        ('POST', '/resource_providers', host, '1 providers, 0 VCPU used\n'),
    )
    with workers.running(url, 2) as running:
        client = HttpClient(running.port)
        clouds.build((clouds.Provider('host', {'VCPU': 8}),), client)
        endpoint = f'http://127.0.0.1:{running.port}/'
        process = subprocess.Popen(
            [sys.executable, '-c', program()],
            stdout=subprocess.PIPE,
            env=os.environ | {'PLACEMENT_ENDPOINT': endpoint, 'OS_TOKEN': 'admin'},
            text=True,
        )
        assert process.stdout is not None
        try:
            with process.stdout as output:
                assert output.readline() == '1 providers, 0 VCPU used\n'
                for method, path, body, line in changes:
                    assert client.send(method, path, body, NEWEST).status < 300
                    assert output.readline() == line
        finally:
            process.kill()
            process.wait()
            client.close()
