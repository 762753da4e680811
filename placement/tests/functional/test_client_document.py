# SPDX-License-Identifier: Apache-2.0
"""The page about the client: its examples run, and its tables are complete."""

import inspect
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest
from docutils import nodes
from oslo_config import cfg

from placement import client, direct
from placement.client import clouds, errors, microversions
from placement.tests.unit import samples

from .fixtures import applications, databases

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


def columns(table: int) -> list[tuple[str, ...]]:
    """What the columns of one of the page's tables say, without their heads."""
    tree, _ = samples.parse_page(PAGE.read_text())
    (body,) = list(tree.findall(nodes.table))[table].findall(nodes.tbody)
    rows = [[entry.astext() for entry in row.children] for row in body.children]
    return list(zip(*rows, strict=True))


@pytest.fixture
def conf() -> Iterator[cfg.ConfigOpts]:
    database = databases.create()
    yield applications.configured(database.url)
    database.drop()


@pytest.fixture
def clouds_yaml(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that the page shows."""
    (file,) = examples('yaml')
    (tmp_path / 'clouds.yaml').write_text(file)
    monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(tmp_path / 'clouds.yaml'))


@pytest.mark.usefixtures('clouds_yaml')
def test_examples_of_the_page_run_in_order(conf: cfg.ConfigOpts) -> None:
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


def test_every_error_is_in_the_table() -> None:
    kinds = [
        kind.__name__
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if kind is not errors.ClientError
    ]
    told = [error.strip('`') for error in columns(0)[0]]
    assert sorted(told) == sorted(kinds)


def test_every_method_is_mentioned() -> None:
    text = PAGE.read_text()
    methods = [name for name in vars(client.ReportClient) if not name.startswith('_')]
    asked_by_the_curious = {'microversion', 'find_allocations', 'claim'}
    missing = [name for name in methods if not re.search(rf'\b{name}\b', text)]
    assert set(missing) <= asked_by_the_curious


def test_table_lists_every_needed_version() -> None:
    told = set(columns(1)[1])
    needed = {str(feature.since) for feature in microversions.Feature}
    # What is said in words: mappings and types are left out for older services, and aggregates
    # are a part of trees.
    assert needed - told == {'1.19', '1.34', '1.38'}
