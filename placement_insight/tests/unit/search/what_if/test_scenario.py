# SPDX-License-Identifier: Apache-2.0
"""Steps taken on a snapshot come to the same as steps taken on its rows."""

import concurrent.futures
import copy
import random
from collections.abc import Callable, Iterable

import pytest

from placement.search.model import kind
from placement.search.model.provider import ProviderRow
from placement.search.model.snapshot import Snapshot
from placement.tests.thorough import examples
from placement.tests.unit.search.cloud import cloud, contents, parse, provider, rows_in, rows_of
from placement.tests.unit.search.oracle import SHARING, Cloud, solve
from placement.tests.unit.search.test_oracle import (
    AGGREGATES,
    CLASSES,
    TRAITS,
    choose_cloud,
    choose_request,
)
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.search.what_if.scenario import (
    NAMES_OF_STEP,
    Held,
    Scenario,
    Step,
    StepRefused,
    Where,
)
from placement_insight.search.what_if.steps import Add, Change, Claim, Release, Remove
from placement_insight.tests.unit.search.what_if.oracle import DISABLED, Rows

MANY = 1_000_000_000
VALUES: list[dict[str, float]] = [
    {'total': 3},
    {'reserved': 2},
    {'allocation_ratio': 2.5},
    {'max_unit': 2},
]


def verb_of(step: Step) -> str:
    """The name of a step in a body."""
    return type(step).__name__.lower()


def scenario(
    given: Snapshot, *steps: Step, names: dict[str, str] | None = None, budget: int = MANY
) -> Scenario:
    """The scenario of some steps."""
    after = Scenario(given, names or {}, SlicedWork(budget, pause=lambda: None))
    after.take((verb_of(step), step) for step in steps)
    return after


class Chance:
    """Random steps on a cloud."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.rows = choose_cloud(self.random.choice)
        # Usage beyond the known allocations belongs to no known consumer.
        self.held: dict[str, Held] = {
            f'consumer{number}': {
                row.id: {name: self.random.randint(1, 2) for name in row.inventories}
                for row in self.random.choices(self.rows, k=2)
            }
            for number in range(4)
        }

    def step(self, rows: Iterable[ProviderRow]) -> Step:
        uuids = [row.uuid for row in rows] or ['nobody']
        makers: list[Callable[[list[str]], Step]] = [
            self.change,
            self.add,
            self.remove,
            self.release,
            self.claim,
        ]
        return self.random.choices(makers, (4, 3, 2, 2, 3))[0](uuids)

    def where(self, uuids: list[str]) -> Where:
        if self.random.random() < 0.3:
            return {'member_of': self.random.choice(AGGREGATES)}
        return self.random.choices([*uuids, 'nobody'], (9,) * len(uuids) + (1,), k=2)

    def names(self, table: list[str]) -> dict[str, list[str]]:
        return {
            verb: self.random.sample(table, self.random.randint(0, 2))
            for verb in ('add', 'remove')
        }

    def change(self, uuids: list[str]) -> Step:
        inventories = {
            name: self.random.choice(VALUES)
            for name in self.random.sample(CLASSES, self.random.randint(0, 2))
        }
        traits, aggregates = self.names([*TRAITS, SHARING, DISABLED]), self.names(AGGREGATES)
        return Change(self.where(uuids), inventories, traits, aggregates)

    def add(self, uuids: list[str]) -> Step:
        member_of = self.random.choice([None, frozenset(), frozenset('A'), frozenset('BC')])
        return Add(self.random.choice(uuids), self.random.randint(1, 3), member_of)

    def remove(self, uuids: list[str]) -> Step:
        return Remove(self.where(uuids))

    def release(self, uuids: list[str]) -> Step:
        held = {n: self.held[n] for n in self.random.sample(sorted(self.held), 2)}
        named = self.random.choice([None, self.random.choice(uuids)])
        return Release(held, 3, named, named is not None)

    def claim(self, uuids: list[str]) -> Step:
        request = choose_request(self.random.choice, self.rows)
        return Claim(request, self.random.randint(1, 4))


@pytest.mark.parametrize('block', range(20))
def test_steps_on_a_snapshot_equal_steps_on_rows(block: int) -> None:
    for number in range(examples(100)):
        check_steps(Chance(100 * block + number))


def check_steps(chance: Chance) -> None:
    given = Snapshot.of(chance.rows)
    before, pool = contents(given), dict(given._pool._references)
    after, expected = Scenario(given, {}, SlicedWork(MANY, pause=lambda: None)), Rows(chance.rows)
    for _ in range(chance.random.randint(1, 6)):
        step = chance.step(expected.rows.values())
        known = len(after.claimed)
        try:
            after.take([(verb_of(step), step)])
        except StepRefused:
            with pytest.raises(StepRefused):
                taken_on_rows(step, copy.deepcopy(expected), [])
            break
        _, outcome = after.outcomes[-1]
        if isinstance(step, Claim):
            check_claims(step, expected, after.claimed[known:])
            assert outcome.claimed == len(after.claimed) - known
            assert (outcome.explanation is None) == (outcome.claimed == step.count)
        taken_on_rows(step, expected, after.claimed[known:], outcome[1:3])
        fresh = Snapshot.of(expected.rows.values())
        assert contents(after.snapshot) == contents(fresh)
        assert after.snapshot.indexes.name_counts == fresh.indexes.name_counts
        assert after.claimed == expected.claimed
        for row in expected.rows.values():
            member = after.snapshot.find_by_uuid(row.uuid)
            assert member is not None
            assert member is after.snapshot.provider(row.id)

    over = {
        row.uuid
        for row in expected.rows.values()
        if row != rows_in(given).get(row.id) and is_over_capacity(after.snapshot, row)
    }
    assert {one.uuid for one in after.over_capacity} == over
    assert all(is_over_capacity(after.snapshot, one) for one in after.over_capacity)
    assert contents(given) == before
    assert given._pool._references == pool


def taken_on_rows(step: Step, rows: Rows, claimed: list[Held], consumers: object = None) -> None:
    match step:
        case Change():
            rows.change(step)
        case Add():
            rows.add(step)
        case Remove():
            rows.remove(step)
        case Release():
            assert rows.release(step) == consumers
        case Claim():
            rows.claim(step, claimed)


def check_claims(step: Claim, rows: Rows, claimed: list[Held]) -> None:
    """Each consumer was claimed of a candidate, and none was refused while there was one."""
    trial = Rows(list(rows.rows.values()))
    for held in claimed:
        uuids = {row.id: row.uuid for row in trial.rows.values()}
        taken = {(uuids[i], name, n) for i, amounts in held.items() for name, n in amounts.items()}
        possible = solve(Cloud(trial.rows.values()), step.request)
        assert taken in [set(one.allocations) for one in possible]
        trial.use(held)
    if len(claimed) < step.count:
        assert not solve(Cloud(trial.rows.values()), step.request)


def is_over_capacity(snapshot: Snapshot, row: object) -> bool:
    member = snapshot.find_by_uuid(row.uuid)  # type: ignore[attr-defined]
    assert member is not None
    return any(used > capacity.ceiling for _, capacity, used in member.inventories)


FLAT = (
    provider(
        'cn1', traits=f'T1 {DISABLED}', aggregates='az1', VCPU={'total': 8, 'used': 6}, FPGA=1
    ),
    provider('cn2', aggregates='az1', VCPU=8),
    provider('cn2_numa', 'cn2', VCPU=4),
    provider('cn2_pf', 'cn2_numa', SRIOV_NET_VF=2),
    provider('pool', traits=SHARING, aggregates='az1', DISK_GB=100),
)


def refusal(*steps: Step, budget: int = MANY) -> str:
    with pytest.raises(StepRefused) as caught:
        scenario(cloud(*FLAT), *steps, budget=budget)
    return str(caught.value)


def test_a_step_says_why_it_cannot_be_taken() -> None:
    gone = Remove(['cn1'])

    assert refusal(gone, Add('cn1', 2)) == (
        "Scenario step 2 (add): there is no resource provider 'cn1'"
    )
    assert refusal(Remove({'member_of': 'az9'})) == (
        "Scenario step 1 (remove): no tree has its root in aggregate 'az9'"
    )
    assert refusal(Change(['cn1', 'cn2'], {'VGPU': {'total': 2}})) == (
        'Scenario step 1 (change): none of these resource providers has inventory of VGPU'
    )
    assert refusal(Change(['cn2'], {'VCPU': {'reserved': 6}})) == (
        'Scenario step 1 (change): more VCPU would be reserved of cn2_numa than there is'
    )
    assert refusal(Add('cn1', 600), Add('cn2', 401)) == (
        'Scenario step 2 (add): more than 1000 trees would be added'
    )
    assert refusal(Release({}, 0, 'cn3')) == (
        "Scenario step 1 (release): there is no resource provider 'cn3'"
    )


@pytest.mark.parametrize(
    'step',
    [
        Change({'member_of': 'az1'}, {'VCPU': {'total': 9}}),
        Add('cn2', 900),
        Remove({'member_of': 'az1'}),
        Release({f'{n}': {n: {'VCPU': 1}} for n in (1, 2, 3)}, 3),
        Claim(parse('resources=VCPU:1'), 10),
    ],
    ids=verb_of,
)
def test_half_a_step_is_none(step: Step) -> None:
    spent = scenario(cloud(*FLAT), step).work.spent

    text = 'the budget of one question does not suffice for it'
    for budget in (0, 1, spent // 2, spent - 1):
        expected = f'Scenario step 1 ({verb_of(step)}): {text}'
        assert refusal(step, budget=budget) == expected, f'{budget} of {spent}'


def test_names_that_a_step_adds_cost_steps() -> None:
    """A hundred steps may each add a thousand, all of which belong to each provider then."""
    names = {'add': [f'aggregate{number}' for number in range(1000)]}
    few, many = (
        scenario(cloud(*FLAT), Change(['cn1'], {}, {}, one)).work.spent
        for one in ({'add': ['aggregate']}, names)
    )
    assert many == few + 1000 // NAMES_OF_STEP


def test_copies_are_empty_and_enabled_and_have_names_of_their_own() -> None:
    names = {'cn1': 'host1', 'cn2_pf': 'host2_pf', 'cn2': 'host2', 'cn2_numa': 'host2_numa'}
    after = scenario(
        cloud(*FLAT),
        Change(['cn1'], {'VCPU': {'total': 16}}),
        Add('host1', 2),
        Add('host1', 1, frozenset(['az2'])),
        Add('host1+3', 1),
        Add('host2_pf', 1),
        Remove(['host1+2', 'cn1']),
        names=names,
    )

    copies = ('host1+1', 'host1+3', 'host1+3+1', 'host2+1', 'host2_numa+1', 'host2_pf+1')
    providers = [after.provider(name) for name in copies]
    assert list(after.snapshot)[-6:] == providers
    assert [one.inventory('VCPU')[0].total for one in providers[:3]] == [16, 16, 16]
    assert [one.used for one in providers[:3]] == [(0, 0)] * 3
    assert all(one.traits == {'T1'} for one in providers[:3])
    assert [sorted(one.aggregates) for one in providers[:3]] == [['az1'], ['az2'], ['az2']]
    assert [one.parent_uuid for one in providers[3:]] == [None, *[p.uuid for p in providers[3:5]]]


def test_thousands_of_scenarios_leave_alone_what_another_thread_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The pool looks for dead entries at nearly every change, which fails where two threads do."""
    monkeypatch.setattr(kind, 'FIRST_PURGE', 1)
    rows = list(rows_of(*[provider(f'cn{n}', VCPU=8, DISK_GB=n % 7 + 1) for n in range(200)]))
    state, is_over = [Snapshot.of(rows)], False

    def keep() -> int:
        changes = 0
        while not is_over:
            changes += 1
            row = rows[changes % len(rows)]
            changed = {'VCPU': row.inventories['VCPU']._replace(total=9 + changes % 5_000)}
            state[0] = state[0].with_changes([row._replace(inventories=changed)])
        return changes

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        keeping = pool.submit(keep)
        try:
            for number in range(examples(10_000)):
                change = Change([f'cn{number % 200}'], {'VCPU': {'total': 9 + number}})
                scenario(state[0], change, Add('cn7', 1))
        finally:
            is_over = True
        assert keeping.result() > 100
