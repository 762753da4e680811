# SPDX-License-Identifier: Apache-2.0
"""Hard searches: what is generated, and what is told of their outcomes."""

from benchmarks import hard
from benchmarks.clouds import Cloud
from placement.search.candidates import find_candidates
from placement.search.model.provider import InventoryRow, ProviderRow
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.tests.unit.search.cloud import parse

FAMILIES = {'unlike hosts', 'packing', 'NUMA affinity', 'near misses'}


def snapshot_of(cloud: Cloud) -> Snapshot:
    """The cloud as the search sees it."""
    ids = {provider.uuid: number for number, provider in enumerate(cloud.providers, 1)}
    rows = []
    roots: dict[str, int] = {}
    for provider in cloud.providers:
        parent = None if provider.parent is None else ids[provider.parent]
        own = ids[provider.uuid]
        roots[provider.uuid] = own if provider.parent is None else roots[provider.parent]
        inventories = {name: InventoryRow(**of) for name, of in provider.inventories.items()}
        rows.append(
            ProviderRow(
                own, provider.uuid, parent, roots[provider.uuid], inventories, provider.traits
            )
        )
    return Snapshot.of(rows)


def request_of(query: hard.Query) -> CandidateRequest:
    return parse(query.path.split('?')[1], budget=1_500_000)


def test_seed_decides_what_is_generated() -> None:
    assert hard.queries(7, 3) == hard.queries(7, 3)
    assert hard.queries(7, 3) != hard.queries(8, 3)
    assert {query.family for query in hard.queries(7, 3)} == FAMILIES


def test_hard_searches_run_only_when_asked_for() -> None:
    assert hard.is_chosen(['hard'])
    assert not hard.is_chosen(['search'])
    assert not hard.is_chosen([])


def test_near_misses_fit_in_sum_and_not_in_fact() -> None:
    queries = [query for query in hard.queries(3, 4) if query.family == 'near misses']
    snapshot = snapshot_of(hard.cloud(queries))
    for query in queries:
        request = request_of(query)
        asked = sum(group.resources['SRIOV_NET_VF'] for group in request.groups)
        offered = sum(one.inventories['SRIOV_NET_VF']['total'] for one in query.providers[1:])
        assert asked <= offered
        result = find_candidates(snapshot, request)
        assert not result.candidates
        assert not result.is_cut


def test_every_family_has_queries_that_fit() -> None:
    queries = hard.queries(5, 6)
    snapshot = snapshot_of(hard.cloud(queries))
    fitting = {
        query.family
        for query in queries
        if find_candidates(snapshot, request_of(query)).candidates
    }
    assert fitting == FAMILIES - {'near misses'}


def test_table_tells_the_share_decided_and_contradictions() -> None:
    ours = (hard.Outcome(1.0, True), hard.Outcome(2.0, False))
    upstream = (hard.Outcome(100.0, True), hard.Outcome(3000.0, None))
    result = hard.HardResult('packing', ours, upstream)
    assert result.contradictions() == 0
    line = hard.table([result]).splitlines()[-1].split()
    assert line[:3] == ['packing', '2', '1']
    assert line[6] == '100%'
    assert line[7] == '2'
    assert line[11] == '50%'
    opposite = hard.HardResult('packing', ours, (upstream[0], hard.Outcome(1.0, True)))
    assert opposite.contradictions() == 1
