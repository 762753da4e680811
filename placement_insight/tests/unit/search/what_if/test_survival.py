# SPDX-License-Identifier: Apache-2.0
"""The loss of domains, held against every way to place those that lose their trees."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence

import hypothesis
import pytest

from placement.search.model.snapshot import Snapshot
from placement.tests.unit.search.cloud import SHARING, cloud, parse, provider, rows_of
from placement.tests.unit.search.test_oracle import AGGREGATES, examples
from placement_insight.search.capacity import capacity_of
from placement_insight.search.closed_form import Count
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.search.what_if.domains import Domain
from placement_insight.search.what_if.filling import Filling
from placement_insight.search.what_if.inferred import Inference, Need
from placement_insight.search.what_if.left import Left
from placement_insight.search.what_if.places import Places
from placement_insight.search.what_if.relocation import Terms
from placement_insight.search.what_if.scenario import Held
from placement_insight.search.what_if.survival import DomainLoss, Survival
from placement_insight.tests.unit.search.what_if.consumers import (
    Inhabited,
    Leaving,
    TooManyWays,
    can_place,
    held_of,
    host,
    inhabited,
    lose,
    places,
    pool,
    vcpus,
    without,
)

WITHIN = frozenset(AGGREGATES)


def needs_of(
    snapshot: Snapshot, held: dict[str, Held], roots: frozenset[int], alike: bool = False
) -> list[Need | None]:
    inference = Inference(snapshot)
    inferred = [inference.of(each, roots, WITHIN) for each in held.values()]
    return [each.alike if alike else each.by_amounts for each in inferred]


def losses(
    given: Inhabited, domains: Sequence[frozenset[int]], snapshot: Snapshot
) -> list[tuple[frozenset[int], dict[str, Held], DomainLoss]]:
    asked = {name: Need(wanted) for name, wanted in given.asked.items()}
    terms = Terms(asked, within=WITHIN)
    survival = Survival(snapshot, terms, SlicedWork(pause=lambda: None))
    held = [held_of(given.consumers, given.rows, roots) for roots in domains]
    return [
        (roots, of_domain, lose(survival, Domain(str(sorted(roots)), roots), of_domain))
        for roots, of_domain in zip(domains, held, strict=True)
    ]


def leaving(needs: Sequence[Need]) -> list[Leaving]:
    return [Leaving(need) for need in needs]


def domains_of(given: Inhabited) -> list[frozenset[int]]:
    roots = sorted({row.root_id for row in given.rows if row.root_id is not None})
    return [*(frozenset([root]) for root in roots), frozenset(roots[:2])]


@examples(500)
@hypothesis.given(inhabited())
def test_what_survives_can_be_placed_and_what_exactly_does_not_cannot(given: Inhabited) -> None:
    snapshot = Snapshot.of(given.rows)
    for roots, held, loss in losses(given, domains_of(given), snapshot):
        left = without(given.rows, roots)
        for alike, survives in (
            (False, loss.survives),
            (True, loss.placed_alike == loss.consumers),
        ):
            needs = needs_of(snapshot, held, roots, alike)
            known = [need for need in needs if need is not None]
            try:
                is_possible = len(known) == len(needs) and can_place(left, leaving(known))
            except TooManyWays:
                hypothesis.reject()
            if survives:
                assert is_possible
            elif not alike and loss.is_exact:
                assert not is_possible
        assert loss.consumers == len(held)


@examples(1_000)
@hypothesis.given(inhabited(most=4, pools=True))
def test_what_was_asked_for_survives_where_all_find_a_place_in_some_order(
    given: Inhabited,
) -> None:
    """What they hold outside of the domain they give back, each when its turn has come."""
    snapshot = Snapshot.of(given.rows)
    for roots, held, loss in losses(given, domains_of(given), snapshot):
        inside = {row.id for row in given.rows if row.root_id in roots}
        inferred = dict(zip(held, needs_of(snapshot, held, roots), strict=True))
        consumers = []
        for name, need in inferred.items():
            if need is not None and name in given.asked:
                back = {i: held[name][i] for i in held[name].keys() - inside}
                consumers.append(Leaving(Need(given.asked[name]), back))
            elif need is not None:
                consumers.append(Leaving(need))
        try:
            left = without(given.rows, roots)
            is_possible = len(consumers) == len(held) and can_place(left, consumers)
        except TooManyWays:
            hypothesis.reject()
        if loss.survives:
            assert is_possible
        elif loss.is_exact:
            assert not is_possible


@examples(400)
@hypothesis.given(inhabited())
def test_slots_are_no_proof_where_there_is_no_way(given: Inhabited) -> None:
    snapshot = Snapshot.of(given.rows)
    for roots in domains_of(given):
        held = held_of(given.consumers, given.rows, roots)
        inference = Inference(snapshot)
        for alike in (False, True):
            inferred = [inference.of(each, roots, WITHIN) for each in held.values()]
            needs = [each.alike if alike else each.by_amounts for each in inferred]
            known = [need for need in needs if need is not None]
            most = inference.most(known) if known else None
            work = SlicedWork(pause=lambda: None)
            if most is None or not Places(snapshot, work).slots(most).suffice(len(known), roots):
                continue
            try:
                assert can_place(without(given.rows, roots), leaving(known))
            except TooManyWays:
                hypothesis.reject()


def test_falses_are_mostly_exact() -> None:
    """Of flat hosts with little left, whose consumers are of several sizes."""
    choose, counts = random.Random(1), Counter[str]()
    for _ in range(400):
        sizes = [(choose.randint(1, 5), choose.randint(1, 5)) for _ in range(choose.randint(3, 5))]
        held: dict[str, Held] = {
            f'c{n}': {1: {'VCPU': vcpu, 'MEMORY_MB': memory}}
            for n, (vcpu, memory) in enumerate(sizes)
        }
        hosts = [
            provider(f'h{n}', VCPU=choose.randint(2, 7), MEMORY_MB=choose.randint(2, 7))
            for n in range(4)
        ]
        lost = provider(
            'lost',
            VCPU={'total': 25, 'used': sum(vcpu for vcpu, _ in sizes)},
            MEMORY_MB={'total': 25, 'used': sum(memory for _, memory in sizes)},
        )
        rows = list(rows_of(lost, *hosts))
        ((_, _, loss),) = losses(Inhabited(rows, held, {}), [frozenset([1])], Snapshot.of(rows))
        needs = needs_of(Snapshot.of(rows), held, frozenset([1]))
        known = [need for need in needs if need]
        is_possible = can_place(rows[1:], leaving(known), most=100_000)
        counts['survives' if loss.survives else 'exact' if loss.is_exact else 'inexact'] += 1
        counts['missed'] += is_possible and not loss.survives
        assert is_possible or not loss.survives
        assert not (is_possible and loss.is_exact and not loss.survives)
    assert counts['survives'] > 100 < counts['exact']
    assert counts['missed'] < 0.01 * 400
    assert 0 < counts['inexact'] < 0.05 * 400


@examples(200)
@hypothesis.given(inhabited())
def test_a_row_does_not_depend_on_the_others_of_its_page(given: Inhabited) -> None:
    domains, snapshot = domains_of(given), Snapshot.of(given.rows)
    together = losses(given, domains, snapshot)
    alone = [losses(given, [roots], snapshot)[0] for roots in reversed(domains)]
    assert together == alone[::-1]


@examples(200)
@hypothesis.given(inhabited())
def test_who_is_placed_is_placed_where_there_was_room(given: Inhabited) -> None:
    snapshot = Snapshot.of(given.rows)
    for roots, held, loss in losses(given, domains_of(given), snapshot):
        for consumer in [each.consumer for each in loss.unplaced if each.explanation]:
            (need,) = needs_of(snapshot, {consumer: held[consumer]}, roots)
            assert need is not None
            assert not places(without(given.rows, roots), need)


def loss_of(
    snapshot: Snapshot, roots: set[int], held: Mapping[str, Held], terms: Terms | None = None
) -> DomainLoss:
    return lose(Survival(snapshot, terms), Domain('lost', frozenset(roots)), held)


def test_a_class_may_be_short_in_sum() -> None:
    loss = loss_of(cloud(host('lost', 8), host('a', 2)), {1}, vcpus(1, 4, 4))
    assert (loss.survives, loss.placed, loss.is_exact) == (False, 1, True)
    assert loss.unplaced[0].words.startswith('There is room for it alone')


def test_a_pool_in_a_tree_over_capacity_goes_on_serving_others() -> None:
    both = {'DISK_GB': {'total': 8, 'used': 9}, 'VCPU': {'total': 8}}
    members = [
        provider('full', CUSTOM_IRON={'total': 1}),
        provider('p', parent='full', traits=SHARING, aggregates='room', **both),
    ]
    snapshot = cloud(host('lost', 8), *members, host('a', aggregates='room'))
    # There is a way: 4, 2 and 2 of the host, 3, 3 and 2 of the pool.
    loss = loss_of(snapshot, {1}, vcpus(1, 4, 3, 3, 2, 2, 2))
    assert (loss.survives, loss.is_exact) == (False, False)


def test_a_disabled_host_takes_nobody() -> None:
    snapshot = cloud(host('lost', 2), host('a', traits='COMPUTE_STATUS_DISABLED'))
    loss = loss_of(snapshot, {1}, vcpus(1, 2))
    assert (loss.survives, loss.is_exact) == (False, True)
    assert loss.unplaced[0].explanation is not None


def test_a_pool_has_to_be_reached() -> None:
    snapshot = cloud(host('a', 2, aggregates='room'), host('b'), pool())
    loss = loss_of(snapshot, {1}, {'c': {1: {'VCPU': 2}, 3: {'DISK_GB': 3}}})
    assert (loss.survives, loss.is_exact) == (False, True)
    assert 'reaches the pools' in loss.unplaced[0].words


def test_zones_that_are_lost_are_not_asked_for() -> None:
    snapshot = cloud(host('a', 2, aggregates='az1'), host('b', aggregates='az2'))
    survival = Survival(snapshot, Terms(within=frozenset({'az1', 'az2'})))
    assert lose(survival, Domain('a', frozenset({1})), vcpus(1, 2)).placed_alike == 0
    lost = Domain('az1', frozenset({1}), frozenset({'az1'}))
    assert lose(survival, lost, vcpus(1, 2)).placed_alike == 1


@pytest.mark.parametrize(('sits', 'placed'), [('b', 1), ('c', 2)])
def test_servers_that_are_kept_apart_do_not_meet(sits: str, placed: int) -> None:
    names = {'b': 2, 'c': 3}
    hosts = [host('a', 2), host('b', traits='X'), host('c', traits='COMPUTE_STATUS_DISABLED')]
    snapshot = cloud(*hosts, host('d'))
    terms = Terms(
        apart=(frozenset({'c0', 'c1', 'third'}),),
        held={
            consumer: {root_id: {'VCPU': 1}}
            for consumer, root_id in (('third', names[sits]), ('c0', 1), ('c1', 1))
        },
    )
    assert loss_of(snapshot, {1}, vcpus(1, 1, 1), terms).placed == placed


def test_nothing_is_told_once_the_budget_is_spent() -> None:
    snapshot = cloud(host('a', 8), *[host(f'h{n}', 7) for n in range(300)])
    survival = Survival(snapshot, work=SlicedWork(100, pause=lambda: None))
    loss = lose(survival, Domain('a', frozenset({1})), vcpus(1, 8))
    assert (loss.consumers, loss.survives, loss.placed_alike) == (1, None, None)
    assert not loss.is_exact


def test_consumers_are_not_looked_at_once_the_budget_is_spent() -> None:
    """Many domains may have a host in common, and it many consumers."""
    snapshot, held = cloud(host('lost', 8), host('a')), vcpus(1, *[1] * 100)
    survival = Survival(snapshot, work=SlicedWork(10_000, pause=lambda: None))
    asked = list[str]()

    def holders_of(domain: Domain) -> Mapping[str, Held]:
        asked.append(domain.name)
        return held

    losses = [survival.loss(Domain(str(n), frozenset({1})), holders_of) for n in range(20)]
    assert {loss.consumers for loss in losses[:2]} == {100}
    # Those of a domain of which not all were looked at are not counted either.
    assert losses[2:] == [DomainLoss(str(n)) for n in range(2, 20)]
    assert losses[2].survives is None
    assert asked == ['0', '1', '2']
    assert survival.work.spent < 10_100
    assert survival.left == {}


REQUESTS = {
    name: parse(query)
    for name, query in {'small': 'resources=VCPU:1', 'large': 'resources=VCPU:4'}.items()
}


def test_what_is_left_after_the_worst() -> None:
    snapshot = cloud(host('a', 2), host('b', 1), host('c', 0))
    survival = Survival(snapshot, requests=REQUESTS)
    assert survival.left == {}
    assert lose(survival, Domain('a', frozenset({1})), vcpus(1, 2)).survives
    assert survival.left == {
        'small': Left(13, 13, 'a'),
        'large': Left(3, 3, 'a'),
    }
    lose(survival, Domain('all but a', frozenset({2, 3})), vcpus(2, 1))
    assert survival.left['small'] == Left(5, 5, 'all but a')
    assert survival.left['large'] == Left(1, 1, 'all but a')


@examples(200)
@hypothesis.given(inhabited())
def test_what_is_left_is_the_capacity_of_what_stays(given: Inhabited) -> None:
    snapshot = Snapshot.of(given.rows)
    for roots in domains_of(given):
        held = held_of(given.consumers, given.rows, roots)
        survival = Survival(snapshot, work=SlicedWork(pause=lambda: None), requests=REQUESTS)
        lose(survival, Domain('lost', roots), held)
        needs = [need for need in needs_of(snapshot, held, roots) if need is not None]
        left = Snapshot.of(without(given.rows, roots))
        for name, request in REQUESTS.items():
            counted = survival.left[name]
            before = capacity_of(left, request, SlicedWork(pause=lambda: None)).now
            if not needs:
                assert before.at_least <= counted.at_most
                assert counted.at_least <= before.at_most
            assert counted.at_least <= before.at_most


def test_losses_are_known_where_what_is_left_is_not() -> None:
    snapshot = cloud(*[host(f'h{n}', n % 8) for n in range(40)])
    survival = Survival(snapshot, work=SlicedWork(12_000), requests=REQUESTS)
    losses = [lose(survival, Domain('lost', frozenset({n})), vcpus(n, 1)) for n in range(1, 41)]

    assert [loss.survives for loss in losses] == [True] * 40
    assert survival.left == {}


def test_nothing_is_left_unsaid() -> None:
    hosts = [host(f'h{n}', n % 8) for n in range(40)]
    snapshot = cloud(*hosts)
    for lost in range(1, 41, 7):
        survival = Survival(snapshot, requests=REQUESTS)
        lose(survival, Domain('lost', frozenset({lost})), vcpus(lost, 1, 1, 2))
        filling = Filling(Places(snapshot, SlicedWork()), {lost})
        inference = Inference(snapshot)
        for amount in (2, 1, 1):
            need = inference.of({lost: {'VCPU': amount}}, {lost}).by_amounts
            assert need is not None
            filling.fill(need)
        for name, request in REQUESTS.items():
            counted = survival.left[name]
            now = capacity_of(filling.snapshot, request).now
            assert Count(counted.at_least, counted.at_most) == now


def test_many_that_are_kept_apart_end_with_the_budget() -> None:
    snapshot = cloud(host('lost', 8), *[host(f'h{n}') for n in range(500)])
    held = vcpus(1, *[1] * 400)
    terms = Terms(apart=(frozenset(held), frozenset(held)))
    assert loss_of(snapshot, {1}, held, terms).placed == 400
    survival = Survival(snapshot, terms, SlicedWork(100_000, pause=lambda: None))
    assert lose(survival, Domain('lost', frozenset({1})), held).placed is None
    assert survival.work.spent < 120_000
