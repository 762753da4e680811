# SPDX-License-Identifier: Apache-2.0
"""The page about the client: its examples run."""

import pathlib
import types
from typing import Any

import openstack
import pytest
from docutils import nodes
from keystoneauth1 import token_endpoint
from keystoneauth1.identity import generic

import placement_report_client as client
from placement import direct
from placement.tests.functional.fixtures import applications, databases
from placement.tests.unit import samples

PAGE = applications.repository_path('doc') / 'source' / 'client.rst'
HOST = '6b6ab6c5-d3d5-4a39-a2f4-9e4a7d3c1a00'
LAST = 'report.release(instance.uuid)'


def examples(language: str) -> list[str]:
    """The blocks of the page in a language, in their order."""
    tree, _ = samples.parse_page(PAGE.read_text())
    return [
        block.astext()
        for block in tree.findall(nodes.literal_block)
        if language in block['classes']
    ]


def test_examples_of_the_page_run_in_order(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = databases.create()
    request.addfinalizer(database.drop)
    conf = applications.configured(database.url)
    names: dict[str, Any] = {'conf': conf}
    with direct.PlacementDirect(conf) as service:
        report = client.ReportClient(service)
        connection = types.SimpleNamespace(placement=service)
        monkeypatch.setattr(openstack, 'connect', lambda **_names: connection)
        for example in examples('python'):
            # However an example connects, it is the service in this process that it meets.
            names.update(report=report, service=service)
            if LAST in example:
                exec(example.replace(LAST, ''), names)
                found = report.find_allocations(names['instance'].uuid)
                assert found is not None
                assert found.amounts[HOST] == {'MEMORY_MB': 3072}
                exec(LAST, names)
            else:
                exec(example, names)
        assert report.find_allocations(names['instance'].uuid) is None
        assert report.find_allocations(names['migration']) is None
        assert names['taken'] in names['candidates'].found


# It warns of what it deprecates itself.
@pytest.mark.filterwarnings('ignore::PendingDeprecationWarning')
@pytest.mark.parametrize(
    ('name', 'auth', 'interface'),
    [('production', generic.Password, 'internal'), ('trial', token_endpoint.Token, 'public')],
)
def test_openstacksdk_reads_the_clouds_of_the_page(
    name: str,
    auth: type[object],
    interface: str,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (file,) = examples('yaml')
    (tmp_path / 'clouds.yaml').write_text(file)
    monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(tmp_path / 'clouds.yaml'))

    cloud = openstack.connect(cloud=name).config

    assert isinstance(cloud.get_auth(), auth)
    assert cloud.get_interface('placement') == interface
