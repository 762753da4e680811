# SPDX-License-Identifier: Apache-2.0
"""The cloud read in bulk: what is asked of each service, and what becomes of the figures."""

import pathlib
from typing import Any

import pytest

from benchmarks import bulk, clouds
from benchmarks.loading import load_as_rows
from benchmarks.services import Service
from placement.tests.unit.benchmarks.conftest import InProcess, Serve


class Counted(Service):
    """A service in this process, of which each read of the clock is a second later."""

    def __init__(self, client: InProcess) -> None:
        super().__init__('in process', 'python', '', pathlib.Path())
        self.client = client
        self._reads = 0

    def cpu_seconds(self) -> float:
        self._reads += 1
        return float(self._reads)


@pytest.fixture
def services(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> list[Counted]:
    """Two services with the same cloud of ten hosts, which are asked in this process."""
    made = []
    for name in ('ours', 'upstream'):
        client, url = serve(name)
        load_as_rows(url, bulk.cloud(10))
        made.append(Counted(client))
    by_port = {number: service.client for number, service in enumerate(made)}
    for number, service in enumerate(made):
        service.port = number
    monkeypatch.setattr(bulk, 'Client', lambda port, limit: by_port[port])
    return made


def test_upstream_is_asked_for_each_part_of_each_host(services: list[Counted]) -> None:
    found = {one.reader: one for one in bulk.measure_bulk(10, services, lambda text: None)}
    asked = {name: one.upstream.requests for name, one in found.items()}
    assert asked == {
        'inventories, usages': 21,
        'exporter (traits too)': 31,
        'dashboard (aggregates too)': 41,
        'audit: consumers': 11,
        'usages of the project': 1,
        'changes: none': 31,
        'changes: 100 hosts': 31,
    }
    assert {one.ours.requests for one in found.values()} == {1}


def test_large_cloud_is_asked_in_part_and_multiplied(
    services: list[Counted], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, 'MAX_HOSTS_ASKED', 5)
    found = next(bulk.measure_bulk(10, services, lambda text: None))
    assert found.hosts_asked == 5
    # One second for the list and, in each round, one for the only host of this round.
    assert found.upstream.cpu_ms == 11_000
    assert found.upstream.requests == 21


def test_changes_are_read_after_they_were_made(services: list[Counted]) -> None:
    found = {one.reader: one for one in bulk.measure_bulk(10, services, lambda text: None)}
    none, some = found['changes: none'], found['changes: 100 hosts']
    assert some.ours.megabytes > 5 * none.ours.megabytes


def test_pages_are_read_to_the_last(
    services: list[Counted], monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = bulk.Reader('small pages', '/insight/providers?page_limit=3')
    monkeypatch.setattr(bulk, 'READERS', (pages,))
    (found,) = bulk.measure_bulk(10, services, lambda text: None)
    assert found.ours.requests == 4


def test_hosts_differ_in_some_of_their_traits() -> None:
    traits = [set(host.traits) for host in bulk.cloud(20).providers]
    assert {len(one) for one in traits} == {bulk.TRAITS}
    assert len({frozenset(one) for one in traits}) == clouds.TRAIT_SETS


def test_bulk_reads_run_only_when_asked_for() -> None:
    assert bulk.sizes(None, ['bulk']) == list(bulk.SIZES)
    assert bulk.sizes([1_000, 50_000], ['bulk']) == [1_000]
    assert bulk.sizes(None, []) == []
    assert bulk.sizes(None, ['search']) == []


def test_table_shows_how_many_times_more_upstream_costs() -> None:
    ours = bulk.Cost(10, 200.0, 210.0, 5.0)
    theirs = bulk.Cost(30_001, 120_000.0, 130_000.0, 15.0)
    found = bulk.BulkResult('exporter', 10_000, ours, theirs, 2_000)
    line = bulk.table([found]).splitlines()[1].split()
    assert line[:5] == ['exporter', '[10000]', '10', '200', '210']
    assert line[6:] == ['30001', '120000', '130000', '15', '2000', '600']
    values: dict[str, Any] = found.as_dict()
    assert values['upstream']['requests'] == 30_001
