# SPDX-License-Identifier: Apache-2.0
"""The order of the candidates of one tree, compared with a key computed from the rows alone."""

import dataclasses
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from unittest import mock
from uuid import UUID

import hypothesis
import pytest
from hypothesis import strategies as st

from placement.conf.service import PLACEMENT_OPTIONS
from placement.search.candidates import find_candidates
from placement.search.model.provider import ProviderRow
from placement.search.model.request import CandidateRequest, Order, Strategy
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import MAX_SOLUTIONS
from placement.search.solver import plan
from placement.tests.unit.search.cloud import SHARING, cloud, mapped, parse, provider
from placement.tests.unit.search.oracle import Cloud, Found, solve
from placement.tests.unit.search.test_oracle import (
    CLASSES,
    ask,
    choose_cloud,
    choose_request,
    chooser,
    examples,
)

SPREAD_CLASSES = [frozenset[str](), *[frozenset([name]) for name in CLASSES], frozenset(CLASSES)]
Key = tuple[int, int, int]


class Tree:
    """The rows of one tree, and what the specification says of candidates under it."""

    def __init__(self, rows: Iterable[ProviderRow], root: str, spread: frozenset[str]) -> None:
        self.cloud = Cloud(rows)
        self.root = root
        self.spread = spread
        self.members = {
            row.uuid: row
            for row in self.cloud.rows.values()
            if self.cloud.root(row).uuid == root and not (SHARING in row.traits and row.aggregates)
        }

    def key(self, taken: Iterable[tuple[str, str, int]]) -> Key:
        """The three parts of the key (opened, left, spread) of taking these amounts."""
        amounts: dict[str, dict[str, int]] = {}
        for uuid, name, amount in taken:
            if uuid in self.members:
                of_one = amounts.setdefault(uuid, {})
                of_one[name] = of_one.get(name, 0) + amount
        return (
            len(self.opened(amounts)),
            sum(self.left(uuid, amounts[uuid]) for uuid in amounts if uuid != self.root),
            sum(self.part(uuid, name, amounts[uuid][name])
                for uuid in amounts for name in amounts[uuid] if name in self.spread),
        )  # fmt: skip

    def opened(self, uuids: Iterable[str]) -> set[str]:
        above = {
            row.uuid
            for uuid in uuids
            for row in self.cloud.ancestors(self.members[uuid])
            if row.uuid != self.root and row.uuid in self.members
        }
        return {uuid for uuid in above if self.is_untouched(uuid)}

    def is_untouched(self, uuid: str) -> bool:
        return not any(
            inventory.used
            for row in self.cloud.rows.values()
            if uuid in [one.uuid for one in self.cloud.ancestors(row)]
            for name, inventory in row.inventories.items()
            if name not in self.spread
        )

    def left(self, uuid: str, amounts: Mapping[str, int]) -> int:
        """The thousandths that stay free of the class that is shortest."""
        parts = [
            1000 * (self.capacity(uuid, name) - self.used(uuid, name) - amount)
            // self.capacity(uuid, name)
            for name, amount in amounts.items()
            if name not in self.spread
        ]  # fmt: skip
        return min(parts, default=0)

    def part(self, uuid: str, name: str, amount: int) -> int:
        """The thousandths that are used then."""
        return 1000 * (self.used(uuid, name) + amount) // self.capacity(uuid, name)

    def used(self, uuid: str, name: str) -> int:
        return self.members[uuid].inventories[name].used

    def capacity(self, uuid: str, name: str) -> int:
        one = self.members[uuid].inventories[name]
        return math.floor((one.total - one.reserved) * one.allocation_ratio)


def signed(key: Key, order: Order) -> Key:
    """The key by which an order sorts."""
    opened, left, spread = key
    sign = {Order.PACKED: 1, Order.SPREAD: -1}[order]
    return sign * opened, sign * left, spread


@st.composite
def questions(
    draw: st.DrawFn, letters: Sequence[str] = ('u', 'a', 'ua', 'aa', 'uab', 'aaa', 'aO', 'aaO')
) -> tuple[list[ProviderRow], CandidateRequest]:
    """A cloud, and a request with classes of which more room left is better."""
    choose = chooser(draw)
    rows = choose_cloud(choose)
    request = choose_request(choose, rows, letters)
    return rows, dataclasses.replace(request, spread_classes=choose(SPREAD_CLASSES))


def by_tree(found: Iterable[Found], anchors: Mapping[Found, set[str]]) -> dict[str, list[Found]]:
    """The candidates of each tree in their order, without those that have several anchors."""
    trees: dict[str, list[Found]] = {}
    for one in found:
        if len(anchors[one]) == 1:
            trees.setdefault(min(anchors[one]), []).append(one)
    return trees


@examples(400)
@hypothesis.given(
    questions(),
    st.sampled_from([Order.PACKED, Order.SPREAD]),
    st.sampled_from(list(Strategy)),
    st.booleans(),
)
def test_few_solutions_are_in_the_order_of_their_keys(
    question: tuple, order: Order, strategy: Strategy, randomize: bool
) -> None:
    rows, request = question
    anchors = solve(Cloud(rows), request)
    with mock.patch.object(plan, 'FEW', 100_000):
        snapshot = Snapshot.of(rows)
        plain = by_tree(ask(snapshot, request, order=Order.BY_ID), anchors)
        found = by_tree(
            ask(snapshot, request, order=order, strategy=strategy, randomize=randomize), anchors
        )
    assert found.keys() == plain.keys()
    for root, candidates in plain.items():
        tree = Tree(rows, root, request.spread_classes)
        keys = {one: signed(tree.key(one.allocations), order) for one in candidates}
        if randomize:
            # Those that differ in sharing providers only are drawn.
            assert set(found[root]) == set(candidates)
            assert [keys[one] for one in found[root]] == sorted(keys.values())
        else:
            assert found[root] == sorted(candidates, key=keys.__getitem__)


@examples(250)
@hypothesis.given(
    questions(['a', 'aa', 'aaa']), st.sampled_from([Order.PACKED, Order.SPREAD]), st.booleans()
)
def test_many_solutions_are_in_order_for_each_group_in_turn(
    question: tuple, order: Order, isolate: bool
) -> None:
    # Groups that ask for the same are decided in the order of the request.
    rows, request = question
    request = dataclasses.replace(request, isolate=isolate, same_subtree=())
    anchors = solve(Cloud(rows), request)
    with mock.patch.object(plan, 'FEW', 0):
        # Of a snapshot of one tree, no other tree has a first solution that could come before.
        found = by_tree(
            ask(Snapshot.of(rows), request, order=order, strategy=Strategy.DEPTH_FIRST), anchors
        )
    suffixes = [group.suffix for group in request.groups]
    for root, candidates in found.items():
        tree = Tree(rows, root, request.spread_classes)
        # The root, then the other members, then the sharing providers of other trees.
        ids = {
            row.uuid: (tree.cloud.root(row).uuid != root, row.uuid != root, row.id) for row in rows
        }

        def steps(one: Found, tree: Tree = tree, ids: Mapping = ids) -> list[object]:
            serving = dict(one.mappings)
            chosen: list[str] = []
            keys: list[object] = []
            for suffix in suffixes:
                (uuid,) = serving[suffix]
                keys.append((in_turn(tree, request, chosen, uuid, order), ids[uuid]))
                chosen.append(uuid)
            return keys

        assert candidates == sorted(candidates, key=steps)


def in_turn(
    tree: Tree, request: CandidateRequest, chosen: Sequence[str], uuid: str, order: Order
) -> Key:
    """The key of the slot of one more group beside those that were chosen before."""
    if uuid not in tree.members:
        return (0, 0, 0)
    amounts = request.groups[0].resources
    here = chosen.count(uuid) + 1
    before = tree.opened(one for one in chosen if one in tree.members)
    key = (
        len(tree.opened([uuid]) - before),
        0 if uuid == tree.root else tree.left(uuid, {n: here * a for n, a in amounts.items()}),
        sum(tree.part(uuid, n, here * a) for n, a in amounts.items() if n in tree.spread),
    )
    return signed(key, order)


@examples(150)
@hypothesis.given(questions(), st.sampled_from(list(Order)), st.sampled_from([0, 64]))
def test_no_order_changes_the_set(question: tuple, order: Order, few: int) -> None:
    rows, request = question
    with mock.patch.object(plan, 'FEW', few):
        found = ask(Snapshot.of(rows), request, order=order)
        again = ask(Snapshot.of(rows), request, order=order)
    assert set(found) == set(solve(Cloud(rows), request))
    assert found == again


@examples(60)
@hypothesis.given(questions(), questions(), st.sampled_from(list(Order)))
def test_kept_solutions_are_those_of_the_request(
    question: tuple, another: tuple, order: Order
) -> None:
    rows, request = question
    requests = [
        request,
        dataclasses.replace(request, order=order),
        dataclasses.replace(request, isolate=not request.isolate),
        dataclasses.replace(request, same_subtree=()),
        dataclasses.replace(request, spread_classes=frozenset(CLASSES)),
        dataclasses.replace(request, single_provider_per_tree=True),
        dataclasses.replace(another[1], same_subtree=()),
    ]
    snapshot = Snapshot.of(rows)
    for one in (*requests, *requests):
        assert ask(snapshot, one) == ask(Snapshot.of(rows), one)


def test_kept_solutions_end_with_the_tree() -> None:
    snapshot = devices(0, 2, 1)
    assert first(snapshot, 'resources1=VGPU:2') == ['gpu1']
    before = snapshot.tree(1)
    assert len(before.solutions) == 1
    # A claim of two units from the fullest device.
    after = snapshot.with_used({3: {'VGPU': 4}})
    assert first(after, 'resources1=VGPU:2') == ['gpu2']
    assert first(snapshot, 'resources1=VGPU:2') == ['gpu1']
    assert after.tree(1) is not before


def test_kept_solutions_of_all_trees_share_a_short_key() -> None:
    """The names in a request may have 64 kB, and each tree keeps several requests."""
    names = ','.join(str(UUID(int=number)) for number in range(100))
    keys = list[str]()
    for _ in range(2):
        snapshot = devices(0, 1)
        assert first(snapshot, f'resources1=VGPU:1&member_of1=!in:{names}') == ['gpu1']
        keys += snapshot.tree(1).solutions
    assert len(keys[0]) < 100
    assert keys[0] is keys[1]


def test_kept_solutions_are_those_of_an_order() -> None:
    snapshot = devices(0, 2, 1)
    for _ in range(2):
        assert first(snapshot, 'resources1=VGPU:2', Order.PACKED) == ['gpu1']
        assert first(snapshot, 'resources1=VGPU:2', Order.SPREAD) == ['gpu0']
        assert first(snapshot, 'resources1=VGPU:1', Order.BY_ID) == ['gpu0']


def test_kept_solutions_do_not_depend_on_other_trees() -> None:
    pools = [provider(f'ss{n}', DISK_GB=8, aggregates='A', traits=SHARING) for n in range(2)]
    gpus = [provider(f'gpu{n}', parent='cn', VGPU={'total': 4, 'used': n}) for n in range(2)]
    snapshot = cloud(provider('cn', aggregates='A'), *gpus, *pools)
    query = 'resources1=VGPU:1&resources2=DISK_GB:1&group_policy=none'
    assert first(snapshot, query) == ['gpu1', 'ss0']
    # The pool is used up meanwhile, and the host has not changed.
    assert first(snapshot.with_used({4: {'DISK_GB': 8}}), query) == ['gpu1', 'ss1']


def test_solutions_of_few_requests_are_kept() -> None:
    snapshot = devices(0, 1, 2)
    for amount in range(1, 4):
        for number in range(MAX_SOLUTIONS):
            first(snapshot, f'resources{number}=VGPU:{amount}')
    assert 0 < len(snapshot.tree(1).solutions) <= MAX_SOLUTIONS


def devices(*used: int, size: int = 4) -> Snapshot:
    """A host with devices with this usage."""
    children = (
        provider(f'gpu{number}', parent='cn', VGPU={'total': size, 'used': amount})
        for number, amount in enumerate(used)
    )
    return cloud(provider('cn', VCPU=8), *children)


def first(snapshot: Snapshot, query: str, order: Order = Order.PACKED) -> list[str]:
    """The providers of the first candidate, for each group with a suffix."""
    result = find_candidates(snapshot, parse(f'{query}&limit=10', order=order))
    return [one for suffix, ones in mapped(result)[0].items() if suffix for one in ones]


@pytest.mark.parametrize(
    ('order', 'used', 'wanted'),
    [
        (Order.PACKED, (0, 1, 3, 4), 'gpu2'),
        (Order.PACKED, (0, 0, 4, 4), 'gpu0'),
        (Order.SPREAD, (1, 0, 3, 0), 'gpu1'),
        (Order.SPREAD, (2, 1, 3, 4), 'gpu1'),
        (Order.BY_ID, (4, 1, 3, 0), 'gpu1'),
    ],
)
def test_first_device(order: Order, used: Sequence[int], wanted: str) -> None:
    assert first(devices(*used), 'resources1=VGPU:1', order) == [wanted]


def test_many_devices_are_in_the_same_order_as_few() -> None:
    used = [0] * 40 + [1, 3, 2] + [0] * 40
    assert first(devices(*used), 'resources1=VGPU:1') == ['gpu41']
    three = '&'.join(f'resources{number}=VGPU:1' for number in (1, 2, 3))
    assert first(devices(*used), f'{three}&group_policy=isolate') == ['gpu41', 'gpu42', 'gpu40']


def test_device_of_a_used_node_opens_less_than_one_of_an_unused_node() -> None:
    snapshot = cloud(
        provider('cn'),
        provider('numa0', parent='cn', VCPU=8),
        provider('numa1', parent='cn', VCPU={'total': 8, 'used': 1}),
        *[provider(f'gpu{one}', parent=f'numa{one // 2}', VGPU=4) for one in range(4)],
    )
    assert first(snapshot, 'resources1=VGPU:1') == ['gpu2']
    assert first(snapshot, 'resources1=VGPU:1', Order.SPREAD) == ['gpu0']


def test_reserved_amounts_are_no_use() -> None:
    snapshot = cloud(
        provider('cn'),
        provider('gpu0', parent='cn', VGPU={'total': 4, 'reserved': 1}),
        provider('gpu1', parent='cn', VGPU={'total': 4, 'used': 1}),
    )
    assert first(snapshot, 'resources1=VGPU:1') == ['gpu1']
    assert first(snapshot, 'resources1=VGPU:1', Order.SPREAD) == ['gpu0']


@pytest.mark.parametrize('order', [Order.PACKED, Order.SPREAD])
def test_of_bandwidth_more_room_left_is_better(order: Order) -> None:
    snapshot = cloud(
        provider('cn'),
        *[
            provider(
                f'port{number}', parent='cn',
                NET_BW_EGR_KILOBIT_PER_SEC={'total': 1000, 'used': used},
            )
            for number, used in enumerate([500, 900, 100, 0])
        ],
    )  # fmt: skip
    name = 'NET_BW_EGR_KILOBIT_PER_SEC'
    assert first(snapshot, f'resources1={name}:50', order) == ['port3']
    assert first(snapshot, f'resources1={name}:50', Order.BY_ID) == ['port0']


def test_order_by_id_is_that_of_the_providers_in_the_order_of_the_groups() -> None:
    snapshot = cloud(
        provider('cn'),
        *[provider(f'gpu{one}', parent='cn', VGPU={'total': 4, 'used': one}) for one in range(3)],
        *[provider(f'nic{one}', parent='cn', VF={'total': 4, 'used': one}) for one in range(3)],
    )
    request = parse('resources1=VGPU:1&resources2=VF:1&group_policy=none', order=Order.BY_ID)
    found = [(one['1'][0], one['2'][0]) for one in mapped(find_candidates(snapshot, request))]
    assert found == [(f'gpu{gpu}', f'nic{nic}') for gpu in range(3) for nic in range(3)]


def test_classes_that_differ_do_not_share_a_plan_where_their_use_opens_nothing() -> None:
    # Nobody asks for the class that is used: of the first host it is one to be spread.
    used = {'total': 4, 'used': 1}
    snapshot = cloud(
        provider('cn0'),
        provider('gpu0_0', parent='cn0', VGPU=4, NET_BW_EGR_KILOBIT_PER_SEC=4),
        provider('gpu0_1', parent='cn0', VGPU=4, NET_BW_EGR_KILOBIT_PER_SEC=used),
        provider('cn1'),
        provider('gpu1_0', parent='cn1', VGPU=4, VCPU=4),
        provider('gpu1_1', parent='cn1', VGPU=4, VCPU=used),
    )
    found = mapped(find_candidates(snapshot, parse('resources1=VGPU:1')))
    assert [one['1'][0] for one in found] == ['gpu0_0', 'gpu1_1', 'gpu0_1', 'gpu1_0']


@pytest.mark.parametrize('few', [0, 64])
def test_random_answers_draw_hosts_and_keep_the_order_of_devices(few: int) -> None:
    hosts = [
        one
        for host in range(4)
        for one in (
            provider(f'cn{host}'),
            *[
                provider(
                    f'gpu{host}_{number}', parent=f'cn{host}', VGPU={'total': 4, 'used': used}
                )
                for number, used in enumerate([0, 2, 3])
            ],
        )
    ]
    snapshot, request = cloud(*hosts), parse('resources1=VGPU:1', randomize=True)
    firsts = set()
    for seed in range(40):
        with mock.patch.object(plan, 'FEW', few):
            found = mapped(find_candidates(snapshot, request, random.Random(seed)))
        names = [one['1'][0] for one in found]
        drawn = [name[3] for name in names[:4]]
        assert sorted(drawn) == list('0123')
        # One of each host in turn, the fullest of each first.
        assert names == [f'gpu{host}_{number}' for number in (2, 1, 0) for host in drawn]
        firsts.add(names[0])
    assert len(firsts) == 4


@pytest.mark.parametrize('few', [0, 64])
@pytest.mark.parametrize('order', list(Order))
def test_random_answers_draw_sharing_providers(order: Order, few: int) -> None:
    pools = [provider(f'ss{n}', DISK_GB=8, aggregates='A', traits=SHARING) for n in range(3)]
    snapshot = cloud(provider('cn', VCPU=8, aggregates='A'), *pools)
    request = parse('resources1=VCPU:1&resources2=DISK_GB:1&group_policy=none', order=order)
    request = dataclasses.replace(request, limit=1, randomize=True)
    with mock.patch.object(plan, 'FEW', few):
        pools_first = {
            mapped(find_candidates(snapshot, request, random.Random(seed)))[0]['2'][0]
            for seed in range(60)
        }
    assert pools_first == {'ss0', 'ss1', 'ss2'}


def test_first_solution_of_another_host_does_not_come_before_that_of_the_host() -> None:
    # Too many ways to be known beforehand; the second host is used in another place.
    hosts = [
        one
        for host, full in enumerate([3, 7])
        for one in (
            provider(f'cn{host}'),
            *[
                provider(
                    f'gpu{host}_{number}', parent=f'cn{host}',
                    VGPU={'total': 4, 'used': 2 * (number == full)},
                )
                for number in range(70)
            ],
        )
    ]  # fmt: skip
    request = parse('resources1=VGPU:1', limit=2)
    found = mapped(find_candidates(cloud(*hosts), request))
    assert [one['1'] for one in found] == [['gpu0_3'], ['gpu1_7']]
    plain = dataclasses.replace(request, order=Order.BY_ID)
    assert [one['1'] for one in mapped(find_candidates(cloud(*hosts), plain))] == [
        ['gpu0_0'], ['gpu1_0'],
    ]  # fmt: skip


def test_defaults_are_those_of_the_configuration() -> None:
    defaults = {option.name: option.default for option in PLACEMENT_OPTIONS}
    assert CandidateRequest(()).order is Order(defaults['order_within_tree'])
    assert CandidateRequest(()).spread_classes == frozenset(defaults['spread_classes'])
