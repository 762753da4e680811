# SPDX-License-Identifier: Apache-2.0
"""The page about the client: its examples run."""

import pathlib
from typing import Any

import pytest
from docutils import nodes

import placement_report_client as client
from placement import direct
from placement.tests.functional.fixtures import applications, databases
from placement.tests.unit import samples
from placement_report_client import clouds

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


@pytest.fixture
def clouds_yaml(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that the page shows."""
    (file,) = examples('yaml')
    (tmp_path / 'clouds.yaml').write_text(file)
    monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(tmp_path / 'clouds.yaml'))


@pytest.mark.usefixtures('clouds_yaml')
def test_examples_of_the_page_run_in_order(request: pytest.FixtureRequest) -> None:
    database = databases.create()
    request.addfinalizer(database.drop)
    conf = applications.configured(database.url)
    names: dict[str, Any] = {'conf': conf}
    with direct.PlacementDirect(conf) as service:
        report = client.ReportClient(service)
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


@pytest.mark.usefixtures('clouds_yaml')
@pytest.mark.parametrize('name', ['production', 'trial'])
def test_the_clouds_of_the_page_make_clients(name: str) -> None:
    assert isinstance(clouds.connect(name), client.ReportClient)
