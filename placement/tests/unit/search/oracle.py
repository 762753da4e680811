# SPDX-License-Identifier: Apache-2.0
"""A slow and simple answer to every search, to hold the fast one against.

Written from the specification alone, sentence by sentence: try every anchor, every way to serve
each group under it, every combination of those ways.  It shares no code with the search but the
values that go in.  Specification: allocation_candidates.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from placement.search.model.provider import InventoryRow, ProviderRow
from placement.search.model.request import CandidateRequest, RequestGroup

SHARING = 'MISC_SHARES_VIA_AGGREGATE'


@dataclasses.dataclass(frozen=True)
class Found:
    """A candidate as a client sees it: what merges duplicates is that these are equal."""

    allocations: frozenset[tuple[str, str, int]]
    mappings: frozenset[tuple[str, frozenset[str]]]


@dataclasses.dataclass(frozen=True)
class Solution:
    """One way to serve one group: the provider of each class, and all providers that take part."""

    group: RequestGroup
    servers: Mapping[str, ProviderRow]
    providers: tuple[ProviderRow, ...]


class Cloud:
    """All providers, and what the glossary and section 4 say about them."""

    def __init__(self, rows: Iterable[ProviderRow]) -> None:
        self.rows = {row.id: row for row in rows}
        self.roots = [row for row in self.rows.values() if row.parent_id is None]
        self._anchors = {row.id: self._find_anchors(row) for row in self.rows.values()}

    def ancestors(self, row: ProviderRow) -> list[ProviderRow]:
        """The provider itself, its parent, and so on up to the root."""
        above = [row]
        while above[-1].parent_id is not None:
            above.append(self.rows[above[-1].parent_id])
        return above

    def root(self, row: ProviderRow) -> ProviderRow:
        """The root of the provider's tree."""
        return self.ancestors(row)[-1]

    def tree(self, root: ProviderRow) -> list[ProviderRow]:
        """Every provider under this root, and the root."""
        return [row for row in self.rows.values() if self.root(row) is root]

    def anchors(self, row: ProviderRow) -> list[ProviderRow]:
        """The roots under which the provider can be used."""
        return self._anchors[row.id]

    def _find_anchors(self, row: ProviderRow) -> list[ProviderRow]:
        roots = [self.root(row)]
        if SHARING in row.traits:
            roots += [
                self.root(other)
                for other in self.rows.values()
                if set(row.aggregates) & set(other.aggregates)
            ]
        return roots

    def is_in_tree(self, row: ProviderRow, uuid: str) -> bool:
        """True if the provider is in the tree of the provider with this uuid."""
        return any(other.uuid == uuid for other in self.tree(self.root(row)))

    def unused(self) -> 'Cloud':
        """The same providers with nothing allocated."""
        return Cloud(map(unused, self.rows.values()))


def unused(row: ProviderRow) -> ProviderRow:
    """The provider with nothing allocated."""
    return row._replace(
        inventories={
            name: InventoryRow(*one)._replace(used=0) for name, one in row.inventories.items()
        }
    )


def nearly_full(rows: Iterable[ProviderRow], left: Callable[[], int]) -> list[ProviderRow]:
    """The cloud with at most `left()` units left of each inventory, without its ratio."""
    return [
        row._replace(
            inventories={
                name: one._replace(used=max(one.used, one.total - one.reserved - left()))
                for name, one in row.inventories.items()
            }
        )
        for row in rows
    ]


def solve(cloud: Cloud, request: CandidateRequest) -> dict[Found, set[str]]:
    """Every candidate, with the uuids of the anchors under which it is found.

    Knows neither limit nor order.
    """
    found: dict[Found, set[str]] = {}
    for anchor in cloud.roots:
        if not allows_anchor(request, anchor):
            continue
        ways = [list(solutions(cloud, group, anchor)) for group in request.groups]
        for combination in itertools.product(*ways):
            if is_allowed(cloud, request, combination):
                found.setdefault(candidate(combination), set()).add(anchor.uuid)
    return found


def summarised(cloud: Cloud, request: CandidateRequest, candidates: Iterable[Found]) -> set[str]:
    """The uuids of the providers to be summarised for these candidates.  Section 3."""
    used = {uuid for found in candidates for uuid, name, amount in found.allocations}
    if not request.summarise_whole_trees:
        return used
    roots = {cloud.root(row).id for row in cloud.rows.values() if row.uuid in used}
    return {row.uuid for row in cloud.rows.values() if cloud.root(row).id in roots}


# Section 7


def allows_anchor(request: CandidateRequest, root: ProviderRow) -> bool:
    """True if candidates may be held together by the tree of this root."""
    return request.root_required <= set(root.traits) and not (
        request.root_forbidden & set(root.traits)
    )


# Section 5


def solutions(cloud: Cloud, group: RequestGroup, anchor: ProviderRow) -> Iterator[Solution]:
    """Every way to serve one group under an anchor."""
    if group.is_suffixed:
        return suffixed_solutions(cloud, group, anchor)
    return unsuffixed_solutions(cloud, group, anchor)


def unsuffixed_solutions(
    cloud: Cloud, group: RequestGroup, anchor: ProviderRow
) -> Iterator[Solution]:
    """Each class is served entirely by one provider, different ones maybe by different ones."""
    choices = [
        [
            row
            for row in cloud.rows.values()
            if anchor in cloud.anchors(row)
            and may_serve_unsuffixed(cloud, group, anchor, row)
            and fits(row, name, amount)
        ]
        for name, amount in group.resources.items()
    ]
    for chosen in itertools.product(*choices):
        traits = {trait for row in chosen for trait in row.traits}
        if all(alternatives & traits for alternatives in group.required):
            yield solution(group, dict(zip(group.resources, chosen, strict=True)), chosen)


def may_serve_unsuffixed(
    cloud: Cloud, group: RequestGroup, anchor: ProviderRow, row: ProviderRow
) -> bool:
    """True if the provider may serve a class of the group, as far as amounts do not matter."""
    is_of_tree = cloud.root(row) is anchor
    if group.in_tree is not None and not (is_of_tree and cloud.is_in_tree(row, group.in_tree)):
        return False
    if group.forbidden & set(row.traits):
        return False
    if group.forbidden_aggregates & {*row.aggregates, *anchor.aggregates}:
        return False
    # An aggregate of a root spans its tree, but not the shares that are used from elsewhere.
    return is_member(group, row) or (is_of_tree and is_member(group, anchor))


def suffixed_solutions(
    cloud: Cloud, group: RequestGroup, anchor: ProviderRow
) -> Iterator[Solution]:
    """Every way to serve a suffixed group: one provider that satisfies all its conditions."""
    for row in cloud.rows.values():
        if (
            anchor in cloud.anchors(row)
            and all(fits(row, name, amount) for name, amount in group.resources.items())
            and all(alternatives & set(row.traits) for alternatives in group.required)
            and not group.forbidden & set(row.traits)
            and is_member(group, row)
            and not group.forbidden_aggregates & set(row.aggregates)
            and (group.in_tree is None or cloud.is_in_tree(row, group.in_tree))
        ):
            yield solution(group, dict.fromkeys(group.resources, row), [row])


def solution(
    group: RequestGroup, servers: Mapping[str, ProviderRow], rows: Iterable[ProviderRow]
) -> Solution:
    """The solution, without duplicate providers."""
    return Solution(group, servers, tuple({row.id: row for row in rows}.values()))


def is_member(group: RequestGroup, row: ProviderRow) -> bool:
    """True if this one provider meets every condition of member_of."""
    return all(alternatives & set(row.aggregates) for alternatives in group.member_of)


def fits(row: ProviderRow, name: str, amount: int) -> bool:
    """True if the amount fits what the provider has of the class.

    Specification: conventions, "Capacity and fit".
    """
    if name not in row.inventories:
        return False
    inventory = InventoryRow(*row.inventories[name])
    return (
        inventory.used + amount <= capacity(inventory)
        and inventory.min_unit <= amount <= inventory.max_unit
        and amount % inventory.step_size == 0
    )


def capacity(inventory: InventoryRow) -> float:
    """The capacity, not truncated."""
    return (inventory.total - inventory.reserved) * inventory.allocation_ratio


# Section 6


def is_allowed(cloud: Cloud, request: CandidateRequest, combination: tuple[Solution, ...]) -> bool:
    """True if solutions of all groups go together."""
    return (
        (not request.isolate or is_isolated(combination))
        and all(is_subtree(cloud, combination, suffixes) for suffixes in request.same_subtree)
        and all(fits_in_sum(row, name, amount) for row, name, amount in amounts(combination))
        and (not request.single_provider_per_tree or takes_one_of_each_tree(cloud, combination))
    )


def is_isolated(combination: tuple[Solution, ...]) -> bool:
    """True if no provider satisfies two suffixed groups."""
    ids = [
        row.id
        for solution in combination
        if solution.group.is_suffixed
        for row in solution.providers
    ]
    return len(ids) == len(set(ids))


def is_subtree(cloud: Cloud, combination: tuple[Solution, ...], suffixes: frozenset[str]) -> bool:
    """True if one of those who satisfy the named groups is an ancestor of all of them."""
    rows = [
        row
        for solution in combination
        if solution.group.suffix in suffixes
        for row in solution.providers
    ]
    return any(all(top in cloud.ancestors(row) for row in rows) for top in rows)


def amounts(combination: tuple[Solution, ...]) -> list[tuple[ProviderRow, str, int]]:
    """The total amounts of all groups by provider and class."""
    rows: dict[int, ProviderRow] = {}
    sums: dict[tuple[int, str], int] = {}
    for solution in combination:
        for name, row in solution.servers.items():
            rows[row.id] = row
            sums[row.id, name] = sums.get((row.id, name), 0) + solution.group.resources[name]
    return [(rows[row_id], name, amount) for (row_id, name), amount in sums.items()]


def fits_in_sum(row: ProviderRow, name: str, amount: int) -> bool:
    """True if a sum fits: min_unit and step_size are a matter of each group."""
    inventory = InventoryRow(*row.inventories[name])
    # That the capacity should be truncated here makes no difference to whole amounts.
    return inventory.used + amount <= capacity(inventory) and amount <= inventory.max_unit


# Section 9


def takes_one_of_each_tree(cloud: Cloud, combination: tuple[Solution, ...]) -> bool:
    """True if no two providers of one tree give resources."""
    givers = {row.id: row for row, name, amount in amounts(combination)}
    roots = [cloud.root(row).id for row in givers.values()]
    return len(roots) == len(set(roots))


def candidate(combination: tuple[Solution, ...]) -> Found:
    """The candidate of a combination in the answer.  Section 3."""
    return Found(
        frozenset((row.uuid, name, amount) for row, name, amount in amounts(combination)),
        frozenset(
            (solution.group.suffix, frozenset(row.uuid for row in solution.providers))
            for solution in combination
        ),
    )


def claimed(rows: Sequence[ProviderRow], found: Found) -> list[ProviderRow]:
    """The cloud after a claim."""
    taken = {(uuid, name): amount for uuid, name, amount in found.allocations}
    return [
        row._replace(
            inventories={
                name: one._replace(used=one.used + taken.get((row.uuid, name), 0))
                for name, one in row.inventories.items()
            }
        )
        for row in rows
    ]
