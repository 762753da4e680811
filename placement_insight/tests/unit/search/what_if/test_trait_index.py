# SPDX-License-Identifier: Apache-2.0
"""Trees are found by rare traits, and what is remembered of needs is bounded."""

import hypothesis
import pytest

from placement.search.model.snapshot import Snapshot
from placement.tests.unit.search.cloud import SHARING, cloud, parse, provider
from placement.tests.unit.search.oracle import Cloud, solve
from placement.tests.unit.search.test_oracle import examples, questions
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.search.what_if import filling, places, trait_index
from placement_insight.search.what_if.domains import Domain
from placement_insight.search.what_if.drain import Drain
from placement_insight.search.what_if.inferred import Inference, Need
from placement_insight.search.what_if.moves import Moves, WantedMove
from placement_insight.search.what_if.places import Places
from placement_insight.search.what_if.relocation import Relocation, Terms
from placement_insight.search.what_if.scenario import Held
from placement_insight.search.what_if.survival import Survival
from placement_insight.search.what_if.trait_index import TraitIndex
from placement_insight.tests.unit.search.what_if.consumers import host, lose, vcpus

HOSTS = 300


def unlike() -> tuple[Snapshot, dict[str, Held]]:
    """Hosts of which each has ten traits that no other has all of, and a consumer each."""
    traits = [
        ' '.join(f'T{bit}{number >> bit & 1}' for bit in range(10)) for number in range(HOSTS)
    ]
    hosts = [host(f'h{n}', 2, traits=names) for n, names in enumerate(traits)]
    held: dict[str, Held] = {f'c{n}': {n: {'VCPU': 2}} for n in range(1, HOSTS + 1)}
    return cloud(*hosts), held


@examples(800)
@hypothesis.given(questions())
def test_every_tree_that_serves_is_among_the_few(question: tuple) -> None:
    rows, request = question
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trait_index, 'FEW', 1)
        few = TraitIndex(Snapshot.of(rows), SlicedWork()).few_for(request)
    if few is None:
        return
    roots = [tree.root_id for tree in few]
    assert roots == sorted(roots)
    found = solve(Cloud(rows), request)
    ids = {row.uuid: row.id for row in rows}
    assert {ids[anchor] for anchors in found.values() for anchor in anchors} <= set(roots)


def test_what_a_pool_brings_tells_no_tree_apart() -> None:
    pool = provider('pool', traits=f'SSD {SHARING}', aggregates='A', DISK_GB=10)
    hosts = [provider(f'h{n}', aggregates='A', VCPU=4) for n in range(20)]
    index = TraitIndex(cloud(pool, *hosts, provider('own', traits='SSD FAST')), SlicedWork())
    assert index.few_for(parse('resources=VCPU:1,DISK_GB:1&required=SSD')) is None
    few = index.few_for(parse('resources=VCPU:1&required=SSD,FAST'))
    assert few is not None
    assert [tree.members[0].uuid for tree in few] == ['own']


def test_hosts_that_all_differ_are_found_by_their_traits() -> None:
    """Not asked one after another for each need, which is 90,000 times."""
    snapshot, held = unlike()
    work = SlicedWork(pause=lambda: None)
    survival = Survival(snapshot, work=work)
    for number in range(1, HOSTS + 1):
        consumer = f'c{number}'
        loss = lose(survival, Domain('lost', frozenset({number})), {consumer: held[consumer]})
        assert (loss.survives, loss.placed_alike) == (True, 0)
    assert work.spent < 150 * HOSTS

    work = SlicedWork(pause=lambda: None)
    moves = Moves(snapshot, held, work)
    assert moves.make([WantedMove(consumer, None) for consumer in held]) is None
    assert work.spent < 150 * HOSTS


def test_answers_do_not_depend_on_what_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot, held = unlike()
    half = frozenset(range(1, HOSTS // 2 + 1))

    def answers() -> list[object]:
        survival, work = Survival(snapshot), SlicedWork()
        domains = [Domain('lost', frozenset({n, n + 1})) for n in range(1, 60)]
        losses = [
            lose(survival, each, {f'c{n}': held[f'c{n}'] for n in each.roots}) for each in domains
        ]
        leaving = {f'c{n}': held[f'c{n}'] for n in half}
        plan = Drain(Relocation(snapshot, Terms(), work), leaving, half).plan()
        return [*losses, *[(move.consumer, move.target.uuid) for move in plan.moves]]

    expected = answers()
    monkeypatch.setattr(places, 'MAX_WEIGHT', 30)
    monkeypatch.setattr(places, 'NEEDS_BETWEEN_LOOKS', 2)
    monkeypatch.setattr(filling, 'MAX_RANKED', 1)
    assert answers() == expected


def test_what_is_remembered_of_needs_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, 'MAX_WEIGHT', 1_000)
    snapshot = cloud(*[host(f'h{n}', total=400) for n in range(50)])
    inference, known = Inference(snapshot), Places(snapshot, SlicedWork(pause=lambda: None))
    for amount in range(1, 400):
        (held,) = vcpus(1, amount).values()
        need = inference.of(held, {1}).by_amounts
        assert isinstance(need, Need)
        assert known.fitting(need).scarcity == 50
    weights = [fitting.weight for fitting in known._fitting.values()]
    assert sum(weights) <= places.MAX_WEIGHT + places.NEEDS_BETWEEN_LOOKS * 70
