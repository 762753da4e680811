# SPDX-License-Identifier: Apache-2.0
"""Clouds with consumers, and every way to place some of them, tried one by one."""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from hypothesis import strategies as st

from placement.search.model.provider import ProviderRow
from placement.search.model.request import CandidateRequest, RequestGroup
from placement.search.what_if.inferred import Need
from placement.search.what_if.scenario import Held
from placement.tests.unit.search.cloud import provider
from placement.tests.unit.search.oracle import Cloud, Found, capacity, claimed, solve
from placement.tests.unit.search.test_oracle import (
    SHARING,
    Choose,
    choose_cloud,
    chooser,
    subsets,
)

# More ways than this are not tried.
MAX_TRIED = 400


class TooManyWays(Exception):
    """There are too many ways to place consumers."""


class Inhabited(NamedTuple):
    """Rows of a cloud, whose usage is what the consumers hold."""

    rows: list[ProviderRow]
    consumers: dict[str, Held]


@st.composite
def inhabited(draw: st.DrawFn, most: int = 6) -> Inhabited:
    """A cloud, and consumers that were claimed in it one after another."""
    choose = chooser(draw)
    rows, consumers = choose_cloud(choose), dict[str, Held]()
    ids = {row.uuid: row.id for row in rows}
    for number in range(choose(range(1, most + 1))):
        # Something that some provider could serve, mostly with others of its tree.
        model = choose(rows)
        kin = [row for row in rows if row.root_id == model.root_id and row.inventories]
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
    return Inhabited(rows, consumers)


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


def can_place(rows: Sequence[ProviderRow], needs: Sequence[Need], most: int = MAX_TRIED) -> bool:
    """Whether all can be placed in some way. Raises `TooManyWays`."""
    tried = 0

    def place(rows: Sequence[ProviderRow], left: Sequence[Need]) -> bool:
        nonlocal tried
        tried += 1
        if tried > most:
            raise TooManyWays
        if not left:
            return True
        return any(place(claimed(rows, found), left[1:]) for found in places(rows, left[0]))

    return place(rows, needs)


def held_of(
    consumers: Mapping[str, Held], rows: Iterable[ProviderRow], roots: Set[int]
) -> dict[str, Held]:
    """The consumers that hold of some trees."""
    lost = {row.id for row in rows if row.root_id in roots}
    return {name: held for name, held in consumers.items() if lost & held.keys()}
