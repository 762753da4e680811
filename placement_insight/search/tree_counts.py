# SPDX-License-Identifier: Apache-2.0
"""The count of each tree, in closed form or by claims.

Trees that share providers are counted one after the other, each after the claims of those before.
"""

import functools
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from placement.search.candidate import Layout
from placement.search.model.provider import Provider
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Structure, Tree
from placement.search.solver.resolved_request import ResolvedRequest
from placement_insight.search.claims import Claims, emptied, emptied_tree
from placement_insight.search.closed_form import (
    Count,
    FreeAmounts,
    Reach,
    Servers,
    Taken,
    quotients,
)
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.search.tree_states import TreeState, TreeStates

# Steps to plan the search of a structure, for each pool that its trees reach.
STEPS_OF_POOL = 10


class Serving(NamedTuple):
    """The providers that serve each provider request in trees of one state, without usage."""

    # The slots of members, by provider request.
    slots: Sequence[Sequence[int]]
    # The sharing providers.
    reach: Reach
    # False if a request has no provider.
    is_served: bool
    # The amounts that one consumer takes from each slot, None if there is a choice of providers,
    # or if conditions other than amounts decide.
    taken: Sequence[tuple[int, Mapping[str, int]]] | None


class SharingTree(NamedTuple):
    """A tree that can use sharing providers.

    `servers` are its members that serve each provider request, and `reach` the sharing providers.
    `taken` has the amounts that one consumer takes, None if there is a choice.
    """

    tree: Tree
    servers: Servers
    reach: Reach
    taken: Taken | None


class Side:
    """One of the two counts: of the cloud as it is, or without usage.

    `at_least` and `at_most` are the bounds so far. `rows` has the counts of the wanted trees by
    root id, each by itself, without claims on other trees.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        resolved: ResolvedRequest,
        work: SlicedWork,
        wanted: Collection[int],
        is_empty: bool,
    ) -> None:
        self._given = snapshot
        self._work = work
        self._wanted = wanted
        self.amounts = FreeAmounts(resolved, work, is_empty)
        self._claims = Claims(snapshot, resolved.request, work)
        self._claims_alone = Claims(snapshot, resolved.request, work)
        self.at_least = self.at_most = 0
        self.rows: dict[int, Count] = {}
        self._known: dict[object, Count] = {}

    @functools.cached_property
    def snapshot(self) -> Snapshot:
        """The cloud before any claim."""
        return emptied(self._given, self._work) if self.amounts.is_empty else self._given

    def add(self, tree: Tree, at_least: int, at_most: int) -> None:
        """Add the count of a tree that shares no providers with others."""
        self.at_least += at_least
        self.at_most += at_most
        if tree.root_id in self._wanted:
            self.rows[tree.root_id] = Count(at_least, at_most)

    def add_claimed(self, tree: Tree, servers: Servers, reach: Reach, is_named: bool) -> None:
        """Add a tree that shares no providers with others, by claims.

        Claims are made once for equal trees, unless `in_tree` names one.
        """
        state = tree.root_id if is_named else (tree.shape, tree.usage)
        count = self._known.get(state)
        if count is None:
            unused = emptied_tree(tree) if self.amounts.is_empty else tree
            count = self._known[state] = self._claimed(self._claims, unused, servers, reach)
        self.add(tree, count.at_least, count.at_most)

    def add_providers(
        self, tree: Tree, providers: Sequence[Provider], reach: Reach, new: Collection[Provider]
    ) -> None:
        """Add the `new` ones of the providers of a single request; the row counts all of them."""
        totals, work = self.amounts.totals, self._work
        most = sum(self.amounts.times(provider, totals) for provider in work.counted([*new]))
        self.at_least += most
        self.at_most += most
        if tree.root_id in self._wanted:
            own = sum(self.amounts.times(provider, totals) for provider in providers)
            self.rows[tree.root_id] = Count.exactly(own + self.amounts.pooled(reach).by_request[0])

    def add_row(self, sharing: SharingTree) -> None:
        """Add the row of a tree that can use sharing providers, if wanted, as their only user."""
        if sharing.tree.root_id not in self._wanted:
            return
        if sharing.taken is not None:
            count = Count.exactly(min(self.amounts.times(*taken) for taken in sharing.taken))
        else:
            self._claims_alone.begin(self.snapshot, self._work)
            count = self._claimed(self._claims_alone, *sharing[:3], shares=True)
        self.rows[sharing.tree.root_id] = count

    def _claimed(
        self, claims: Claims, tree: Tree, servers: Servers, reach: Reach, shares: bool = False
    ) -> Count:
        """Return the count of a tree by claims.

        Another order of claims may reach more, unless there is no candidate from the start.
        """
        most = self.amounts.most(servers, reach)
        made, is_cut = claims.claim(tree, shares) if most else (0, False)
        return Count(made, most if made or is_cut else 0)

    def add_sharing(self, trees: Sequence[SharingTree], work: SlicedWork) -> None:
        """Count all trees that can use sharing providers, one after the other, within a budget.

        The upper bound of trees that share with each other is the lower one of two: the sum of
        their own bounds, and the bound of all their providers together.
        """
        chosen = [sharing for sharing in trees if sharing.taken is None]
        for sharing in work.counted(trees):
            if sharing.taken is not None:
                self.at_least += self.amounts.take(sharing.taken)
        self._claims.begin(self.amounts.left_of(self.snapshot) if chosen else self.snapshot, work)
        structures = set[Structure]()
        for tree, _, reach, _ in chosen:
            if tree.shape.structure not in structures:
                structures.add(tree.shape.structure)
                work.count(STEPS_OF_POOL * len(reach.every))
            self.at_least += self._claims.claim(tree, shares=True)[0]
        for tied in _tied(trees, work):
            apart = sum(self.amounts.most(one.servers, one.reach) for one in work.counted(tied))
            self.at_most += min(apart, self.amounts.most(*_joint(tied, work)))


class TreeCounts:
    """Counts the trees of a snapshot: `now` and `if_empty`.

    `totals` has the amounts of one consumer by class. `wanted` are the root ids of trees with a
    row. `only` are the trees to count, if not all, perhaps with other usage.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        request: CandidateRequest,
        work: SlicedWork,
        wanted: Collection[int] = (),
        only: Sequence[Tree] | None = None,
    ) -> None:
        self.snapshot = snapshot
        self._only = only
        self.work = work
        self._resolved = resolved = ResolvedRequest.of(snapshot, request)
        self.totals: Mapping[str, int] = resolved.totals
        self.now = Side(snapshot, resolved, work, wanted, is_empty=False)
        self.if_empty = Side(snapshot, resolved, work, wanted, is_empty=True)
        self._sides = (self.now, self.if_empty)
        self._states = TreeStates(snapshot, resolved, work)
        self._serving: dict[TreeState, Serving] = {}
        self._reaches: dict[object, Reach] = {}
        self._sharing: list[SharingTree] = []
        # The counted providers of a single request, since several trees may reach the same one,
        # and the reaches whose providers are all counted.
        self._served: set[Provider] = set()
        self._served_reaches: set[Reach] = set()
        if self.totals:
            self._count()
        else:
            for side in self._sides:
                side.rows = dict.fromkeys(wanted, Count(0, 0))

    def _count(self) -> None:
        requests = len(self._resolved.provider_requests)
        for tree in self.snapshot.trees() if self._only is None else self._only:
            self._add(tree)
            self.work.count(requests)
        for number, side in enumerate(self._sides if self._sharing else ()):
            part = self.work.part(self.work.left // (len(self._sides) - number))
            side.add_sharing(self._sharing, part)
            self.work.count(part.spent)

    def _add(self, tree: Tree) -> None:
        state = self._states.state(tree)
        serving = self._serving.get(state)
        if serving is None:
            serving = self._serving[state] = self._new_serving(state)
        if not serving.is_served:
            for side in self._sides:
                side.add(tree, 0, 0)
            return
        providers = state.providers_of(tree)
        taken: Taken | None = None
        if serving.taken is not None:
            taken = [(providers[slot], amounts) for slot, amounts in serving.taken]
        if taken and not self._uses_pools(tree, serving):
            now, if_empty = map(min, zip(*itertools.starmap(quotients, taken), strict=True))
            self.now.add(tree, now, now)
            self.if_empty.add(tree, if_empty, if_empty)
        else:
            self._add_chosen(tree, taken, serving)

    def _uses_pools(self, tree: Tree, serving: Serving) -> bool:
        """True if providers that other trees may use serve a tree."""
        return bool(serving.reach.every) or (
            tree.shape.structure.has_sharing
            and any(
                tree.members[slot].kind.profile.is_sharing
                for slots in serving.slots
                for slot in slots
            )
        )

    def _add_chosen(self, tree: Tree, taken: Taken | None, serving: Serving) -> None:
        """Add a tree with a choice of providers, or with sharing providers."""
        servers = [[tree.members[slot] for slot in slots] for slots in serving.slots]
        self.work.spent += len(tree.members)
        if len(servers) == 1:
            self._add_providers(tree, servers[0], serving.reach)
        elif self._uses_pools(tree, serving):
            sharing = SharingTree(tree, servers, serving.reach, taken)
            self._sharing.append(sharing)
            for side in self._sides:
                side.add_row(sharing)
        else:
            is_named = tree.root_id in self._states.named_roots
            for side in self._sides:
                side.add_claimed(tree, servers, serving.reach, is_named)

    def _add_providers(self, tree: Tree, providers: Sequence[Provider], reach: Reach) -> None:
        """Add the providers that serve a single request in a tree, unless counted before."""
        serving = set(providers)
        if reach not in self._served_reaches:
            self._served_reaches.add(reach)
            serving |= reach.every
        new = serving - self._served
        self._served |= new
        for side in self._sides:
            side.add_providers(tree, providers, reach, new)

    def _new_serving(self, state: TreeState) -> Serving:
        table = self._states.table
        kept, slots = table.visible & ~table.free, list[list[int]]()
        gained = [0] * len(table.groups)
        for number, of_group in enumerate(table.group_of):
            serving = []
            for slot, elements in enumerate(state.elements):
                brought = [gain for mask, gain in elements[number] if not mask & kept]
                if brought:
                    serving.append(slot)
                    gained[of_group] |= brought[0]
            slots.append(serving)
            if not serving:
                break
        is_missing = not all(slots) or any(
            group.bits.collected & ~traits
            for group, traits in zip(table.groups, gained, strict=True)
        )
        if is_missing or state.arrangement.root:
            slots = [[] for _ in table.group_of]
        members, sharing = len(state.arrangement.needs), state.arrangement.sharing
        self.work.count(sum(map(len, slots)))
        pools = [[sharing[n - members] for n in serving if n >= members] for serving in slots]
        reach = self._reaches.setdefault(tuple(map(tuple, pools)), Reach(pools))
        own = [[n for n in serving if n < members] for serving in slots]
        return Serving(own, reach, all(slots), self._taken(slots))

    def _taken(self, slots: Sequence[Sequence[int]]) -> list[tuple[int, Mapping[str, int]]] | None:
        resolved = self._resolved
        chosen = [of_request[0] for of_request in slots if len(of_request) == 1]
        if len(chosen) < len(slots):
            return None
        # Positions in the tree, and combinations of providers, need a search.
        if len(set(chosen)) > 1 and (
            resolved.constraints or resolved.request.single_provider_per_tree
        ):
            return None
        requests = resolved.provider_requests
        isolated = [
            slot for request, slot in zip(requests, chosen, strict=True) if request.is_exclusive
        ]
        if len(set(isolated)) < len(isolated):
            return None
        layout = Layout(requests, tuple(chosen))
        return [(slot, layout.amounts[slot]) for slot in layout.allocated]


def _joint(trees: Sequence[SharingTree], work: SlicedWork) -> tuple[Servers, Reach]:
    """Return the providers that serve each provider request in some trees, as if in one tree."""
    requests = range(len(trees[0].servers))
    joint = [set[Provider]() for _ in requests]
    for tree in work.counted(trees):
        for number in requests:
            joint[number].update(tree.servers[number])
    for reach in {tree.reach for tree in trees}:
        for number in requests:
            joint[number].update(reach.of_request[number])
    return joint, Reach([()] * len(requests))


def _tied(trees: Sequence[SharingTree], work: SlicedWork) -> Iterator[Sequence[SharingTree]]:
    """Yield the sets of trees that are connected by shared providers."""
    parents: dict[object, object] = {}

    def representative(node: object) -> object:
        while (parent := parents.setdefault(node, node)) is not node:
            parents[node] = node = parents[parent]
        return node

    def tie(nodes: Iterable[object]) -> None:
        first, *others = map(representative, nodes)
        parents.update(dict.fromkeys(others, first))

    for reach in {tree.reach for tree in trees if tree.reach.every}:
        tie([reach, *reach.every])
        work.count(len(reach.every))
    tied: dict[object, list[SharingTree]] = {}
    for tree in work.counted(trees):
        tie(_ties_of(tree))
    for tree in work.counted(trees):
        tied.setdefault(representative(_ties_of(tree)[0]), []).append(tree)
    yield from tied.values()


def _ties_of(tree: SharingTree) -> list[object]:
    """Return the reach of a tree, if not empty, and its members that others may use."""
    ties: list[object] = [tree.reach] if tree.reach.every else []
    if tree.tree.shape.structure.has_sharing:
        ties += [p for serving in tree.servers for p in serving if p.kind.profile.is_sharing]
    return ties
