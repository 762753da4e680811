# SPDX-License-Identifier: Apache-2.0
"""Clouds with consumers, and every way to place some of them, tried one by one."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from hypothesis import strategies as st

from placement.search.model.provider import InventoryRow, ProviderRow
from placement.search.model.request import CandidateRequest, RequestGroup
from placement.tests.unit.search.cloud import provider
from placement.tests.unit.search.oracle import Cloud, Found, capacity, claimed, solve
from placement.tests.unit.search.test_oracle import (
    AGGREGATES,
    CLASSES,
    SHARING,
    Choose,
    choose_cloud,
    choose_request,
    chooser,
    subsets,
)
from placement_insight.search.what_if.domains import Domain
from placement_insight.search.what_if.inferred import Need
from placement_insight.search.what_if.scenario import Held
from placement_insight.search.what_if.survival import DomainLoss, Survival

# More ways than this are not tried.
MAX_TRIED = 400


class TooManyWays(Exception):
    """There are too many ways to place consumers."""


class Inhabited(NamedTuple):
    """Rows of a cloud, whose usage is what the consumers hold."""

    rows: list[ProviderRow]
    consumers: dict[str, Held]
    asked: dict[str, CandidateRequest]


@st.composite
def inhabited(draw: st.DrawFn, most: int = 6, pools: bool = False) -> Inhabited:
    """A cloud, mostly with a small pool if wanted, and consumers that were claimed in it one after
    another, with the requests of some, which may ask for something else than was claimed."""
    choose = chooser(draw)
    rows, consumers = choose_cloud(choose), dict[str, Held]()
    pooled = _pools(choose, rows) if pools else []
    rows += pooled
    ids = {row.uuid: row.id for row in rows}
    for number in range(choose(range(1, most + 1))):
        # Something that some provider could serve, mostly with others of its tree.
        model = choose(rows)
        kin = [row for row in rows if row.root_id == model.root_id and row.inventories] + pooled
        groups = [_group(choose, choose(kin), suffix) for suffix in choose(SUFFIXES) if kin]
        wanted = CandidateRequest(tuple(group for group in groups if group.resources))
        found = sorted(solve(Cloud(rows), wanted), key=_sorted) if wanted.groups else []
        if found:
            chosen = choose(found)
            rows = claimed(rows, chosen)
            held: dict[int, dict[str, int]] = {}
            for uuid, name, amount in chosen.allocations:
                held.setdefault(ids[uuid], {})[name] = amount
            consumers[f'c{number}'] = held
    known = [name for name in consumers if pools and choose([True, True, False])]
    asked = {name: _asked(choose, rows, consumers[name]) for name in known}
    return Inhabited(rows, consumers, asked)


def _pools(choose: Choose, rows: list[ProviderRow]) -> list[ProviderRow]:
    """Up to two pools; roots of the rows come into their aggregates."""
    names = choose([AGGREGATES[:1], AGGREGATES[:1], AGGREGATES[:2], []])
    for number, row in enumerate(rows):
        if names and row.parent_id is None and choose([True, True, False]):
            rows[number] = row._replace(aggregates={*row.aggregates, choose(names)})
    first = max(row.id for row in rows) + 1
    return [
        ProviderRow(
            first + number,
            f'pool{number}',
            None,
            first + number,
            {name: InventoryRow(choose([2, 4, 6])) for name in choose(subsets(CLASSES, 2)[1:])},
            frozenset([SHARING]),
            frozenset([aggregate]),
        )
        for number, aggregate in enumerate(names)
    ]


def _asked(choose: Choose, rows: list[ProviderRow], held: Held) -> CandidateRequest:
    """A request by a consumer: of amounts as it holds them, or not quite, in any groups."""
    if choose([False] * 9 + [True]):
        return choose_request(choose, rows)
    groups: dict[str, RequestGroup] = {}
    for name, amount in [item for of_one in held.values() for item in of_one.items()]:
        suffix = choose(['', '', '_1', f'_{name}'])
        group = groups.setdefault(suffix, RequestGroup(suffix))
        wanted = max(1, amount + choose([0, 0, 0, 1, -1, -2]))
        group = dataclasses.replace(group, resources={**group.resources, name: wanted})
        groups[suffix] = group
    return CandidateRequest(tuple(groups.values()), isolate=choose([False, True]))


def _sorted(found: Found) -> str:
    """An order that is the same in each process, whatever the order of its sets."""
    mappings = [(suffix, sorted(names)) for suffix, names in found.mappings]
    return repr((sorted(found.allocations), sorted(mappings)))


SUFFIXES = [[''], [''], ['', '_1'], ['_1'], ['_1', '_2'], ['', '_1', '_2']]


def _group(choose: Choose, row: ProviderRow, suffix: str) -> RequestGroup:
    names = choose(subsets(sorted(row.inventories), 2)[1:])
    return RequestGroup(suffix, {name: choose([1, 2, 3, 4]) for name in sorted(names)})


def host(name: str, used: int = 0, total: int = 8, **more: object) -> dict:
    """A provider of VCPU."""
    return provider(name, VCPU={'total': total, 'used': used}, **more)  # type: ignore[arg-type]


def pool(used: int = 0, total: int = 100, **units: int) -> dict:
    """A sharing provider of DISK_GB, in the aggregate room."""
    disk = {'total': total, 'used': used, **units}
    return provider('pool', traits=SHARING, aggregates='room', DISK_GB=disk)


def vcpus(host_id: int, *amounts: int) -> dict[str, Held]:
    """Consumers of a host, c0 and so on, by how much VCPU they hold."""
    return {f'c{n}': {host_id: {'VCPU': amount}} for n, amount in enumerate(amounts)}


def lose(survival: Survival, domain: Domain, held: Mapping[str, Held]) -> DomainLoss:
    """The loss of a domain of which these consumers hold."""
    return survival.loss(domain, lambda _domain: held)


def without(rows: Iterable[ProviderRow], roots: Set[int]) -> list[ProviderRow]:
    """The cloud without some trees."""
    return [row for row in rows if row.root_id not in roots]


def places(rows: Sequence[ProviderRow], need: Need) -> list[Found]:
    """Every place that a need has."""
    by_uuid, cloud = {row.uuid: row for row in rows}, Cloud(rows)

    def serves(root: ProviderRow) -> bool:
        tree = cloud.tree(root)
        aggregates = {name for row in tree for name in row.aggregates}
        is_pool = len(tree) == 1 and SHARING in root.traits and root.aggregates
        is_over = any(one.used > capacity(one) for row in tree for one in row.inventories.values())
        return (
            not is_pool
            and not is_over
            and need.within <= set(root.aggregates)
            and all(aggregates & pool for pool in need.reaches)
        )

    return [
        found
        for found, anchors in solve(cloud, need.request).items()
        if any(serves(by_uuid[uuid]) for uuid in anchors)
    ]


class Leaving(NamedTuple):
    """The need of a consumer, and the allocations that it gives back before it is placed."""

    need: Need
    back: Held = {}


def can_place(
    rows: Sequence[ProviderRow], consumers: Sequence[Leaving], most: int = MAX_TRIED
) -> bool:
    """Whether all can be placed in some way, in some order. Raises `TooManyWays`."""
    failed = set[object]()

    def place(rows: Sequence[ProviderRow], left: tuple[int, ...]) -> bool:
        if not left:
            return True
        state = (left, repr([row.inventories for row in rows]))
        if state in failed:
            return False
        if len(failed) > most:
            raise TooManyWays
        # The order matters to those alone who leave room to others.
        in_turn = left if any(consumers[n].back for n in left) else left[:1]
        for number in in_turn:
            need, back = consumers[number]
            rest, given_back = tuple(n for n in left if n != number), used_less(rows, back)
            for found in places(used_less(rows, back, at_most_full=True), need):
                if place(claimed(given_back, found), rest):
                    return True
        failed.add(state)
        return False

    return place(rows, tuple(range(len(consumers))))


def used_less(
    rows: Sequence[ProviderRow], held: Held, at_most_full: bool = False
) -> Sequence[ProviderRow]:
    """The cloud after a consumer gave back what it holds; of pools over capacity a write may leave
    as much as was used, as if it were no more than there is."""
    after = []
    for row in rows:
        for name, amount in held.get(row.id, {}).items():
            one = row.inventories[name]
            used = one.used
            if at_most_full and SHARING in row.traits:
                used = min(used, max(math.floor(capacity(one)), 0))
            inventories = {**row.inventories, name: one._replace(used=used - amount)}
            row = row._replace(inventories=inventories)
        after.append(row)
    return after


def held_of(
    consumers: Mapping[str, Held], rows: Iterable[ProviderRow], roots: Set[int]
) -> dict[str, Held]:
    """The consumers that hold of some trees."""
    lost = {row.id for row in rows if row.root_id in roots}
    return {name: held for name, held in consumers.items() if lost & held.keys()}
