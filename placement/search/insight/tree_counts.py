# SPDX-License-Identifier: Apache-2.0
"""The count of each tree, by whichever way suits the request and the tree.

Trees that share providers are counted after each other, each with what those before it have left.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from placement.search.insight.closed_form import Count, Room, Servers, Taken, quotients
from placement.search.insight.feasibility import Claims, emptied, emptied_tree
from placement.search.insight.sliced_work import SlicedWork
from placement.search.insight.tree_states import TreeState, TreeStates
from placement.search.model.provider import Provider
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree
from placement.search.solver.resolved_request import ResolvedRequest


class Serving(NamedTuple):
    """The slots of trees of one state that serve each provider request if nothing is used, and the
    amounts that one consumer takes of each slot: None where there is a choice, or where it is not
    amounts alone that decide."""

    slots: Sequence[Sequence[int]]
    taken: Sequence[tuple[int, Mapping[str, int]]] | None


class SharingTree(NamedTuple):
    """A tree that can use sharing providers, and who serves each provider request there."""

    tree: Tree
    servers: Servers
    taken: Taken | None
    pools: frozenset[Provider]


class Side:
    """One of the two counts: of the cloud as it is, or as it would be if nothing were used.

    `least` and `most` are the bounds of what was counted so far, `rows` the counts of the wanted
    trees by root id, each as if nobody claimed from any other.
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
        self.room = Room(resolved, is_empty)
        self._claims = Claims(snapshot, resolved.request, work)
        self._claims_alone = Claims(snapshot, resolved.request, work)
        self.least = self.most = 0
        self.rows: dict[int, Count] = {}
        self._known: dict[object, Count] = {}

    @functools.cached_property
    def snapshot(self) -> Snapshot:
        """The cloud at first."""
        return emptied(self._given) if self.room.is_empty else self._given

    def add(self, tree: Tree, least: int, most: int) -> None:
        """Add the count of a tree that uses nothing of any other."""
        self.least += least
        self.most += most
        if tree.root_id in self._wanted:
            self.rows[tree.root_id] = Count(least, most)

    def add_claimed(self, tree: Tree, servers: Servers, is_named: bool) -> None:
        """Add a tree that uses nothing of any other, by claims; alike ones are claimed on once,
        but for such as `in_tree` names."""
        state = tree.root_id if is_named else (tree.shape, tree.usage)
        count = self._known.get(state)
        if count is None:
            unused = emptied_tree(tree) if self.room.is_empty else tree
            count = self._known[state] = self._claimed(self._claims, unused, servers)
        self.add(tree, count.at_least, count.at_most)

    def add_providers(
        self, tree: Tree, providers: Sequence[Provider], counted: Collection[int]
    ) -> None:
        """Add the providers of a tree that serve the only request, but for those counted before;
        all of them make the row."""
        totals = self.room.totals
        often = {provider.id: self.room.times(provider, totals) for provider in providers}
        new = sum(times for provider_id, times in often.items() if provider_id not in counted)
        self.least += new
        self.most += new
        if tree.root_id in self._wanted:
            self.rows[tree.root_id] = Count.exactly(sum(often.values()))

    def add_row(self, sharing: SharingTree) -> None:
        """Add the row of a tree that can use sharing providers, if it is wanted: as if no other
        used them."""
        if sharing.tree.root_id not in self._wanted:
            return
        if sharing.taken is not None:
            count = Count.exactly(min(self.room.times(*taken) for taken in sharing.taken))
        else:
            self._claims_alone.snapshot = self.snapshot
            count = self._claimed(self._claims_alone, sharing.tree, sharing.servers, shares=True)
        self.rows[sharing.tree.root_id] = count

    def _claimed(
        self, claims: Claims, tree: Tree, servers: Servers, shares: bool = False
    ) -> Count:
        """The count of a tree for itself.

        Another order of claims may reach more, unless there was no candidate from the start.
        """
        most = self.room.most(servers)
        made, is_cut = claims.on(tree, shares) if most else (0, False)
        return Count(made, most if made or is_cut else 0)

    def add_sharing(self, trees: Sequence[SharingTree]) -> None:
        """Count all trees that can use sharing providers, one after the other.

        The upper bound is, of those that share with each other, what each has for itself, and
        what all have together.
        """
        chosen = list[Tree]()
        for tree, servers, taken, _ in trees:
            self._work.count(len(servers))
            if taken is None:
                chosen.append(tree)
            else:
                self.least += self.room.take(taken)
        if chosen:
            self._claims.snapshot = self.room.left_of(self.snapshot)
        self.least += sum(self._claims.on(tree, shares=True)[0] for tree in chosen)
        for tied in _tied(trees):
            self._work.count(len(tied) * len(tied[0].servers))
            joint = [
                {provider for serving in of_request for provider in serving}
                for of_request in zip(*[sharing.servers for sharing in tied], strict=True)
            ]
            apart = sum(self.room.most(sharing.servers) for sharing in tied)
            self.most += min(apart, self.room.most(joint))


class TreeCounts:
    """Counts the trees of a snapshot: `now` and `if_empty`.

    `totals` is all that one consumer takes, by class. `wanted` are the root ids of trees that have
    a row each. With `aggregate` only trees that have to do with it are looked at: of a request for
    providers in it, the others serve nothing. `only` are the trees to be counted, maybe with other
    usage, where these are not all.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        request: CandidateRequest,
        work: SlicedWork,
        wanted: Collection[int] = (),
        aggregate: str | None = None,
        only: Collection[Tree] | None = None,
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
        self._sharing: list[SharingTree] = []
        # Providers that serve the only request, each of which may be reached from several trees.
        self._served: set[int] = set()
        self._reach: frozenset[str] | None = None
        if aggregate is not None:
            # Those who share in it may be used from trees that are outside of it.
            sharing = [provider.aggregates for provider in snapshot.sharing_in([aggregate])]
            self._reach = frozenset([aggregate]).union(*sharing)
        if self.totals:
            self._count()
        else:
            for side in self._sides:
                side.rows = dict.fromkeys(wanted, Count(0, 0))

    def _count(self) -> None:
        requests, reach = len(self._resolved.provider_requests), self._reach
        of_blocks = (block.trees.values() for block in self.snapshot.blocks.values())
        for trees in of_blocks if self._only is None else (self._only,):
            for tree in trees:
                if reach is None or not reach.isdisjoint(tree.shape.structure.aggregates):
                    self._add(tree)
            self.work.count(len(trees) * requests)
        for side in self._sides:
            side.add_sharing(self._sharing)

    def _add(self, tree: Tree) -> None:
        state = self._states.state(tree)
        serving = self._serving.get(state)
        if serving is None:
            serving = self._serving[state] = self._new_serving(state)
        if not all(serving.slots):
            for side in self._sides:
                side.add(tree, 0, 0)
            return
        providers = state.providers_of(tree)
        pools = self.snapshot.has_sharing and _pools(tree, providers, serving)
        taken: Taken | None = None
        if serving.taken is not None:
            taken = [(providers[slot], amounts) for slot, amounts in serving.taken]
        if taken and not pools:
            now, if_empty = map(min, zip(*itertools.starmap(quotients, taken), strict=True))
            self.now.add(tree, now, now)
            self.if_empty.add(tree, if_empty, if_empty)
        else:
            self._add_chosen(tree, providers, taken, pools or set(), serving)

    def _add_chosen(
        self,
        tree: Tree,
        providers: Sequence[Provider],
        taken: Taken | None,
        pools: set[Provider],
        serving: Serving,
    ) -> None:
        """Add a tree in which there is a choice, or that uses providers of others."""
        servers = [[providers[slot] for slot in slots] for slots in serving.slots]
        self.work.spent += len(tree.members)
        if len(servers) == 1:
            for side in self._sides:
                side.add_providers(tree, servers[0], self._served)
            self._served.update(provider.id for provider in servers[0])
        elif pools:
            sharing = SharingTree(tree, servers, taken, frozenset(pools))
            self._sharing.append(sharing)
            for side in self._sides:
                side.add_row(sharing)
        else:
            is_named = tree.root_id in self._states.named_roots
            for side in self._sides:
                side.add_claimed(tree, servers, is_named)

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
        is_missing = any(
            group.collected & ~traits for group, traits in zip(table.groups, gained, strict=True)
        )
        if is_missing or state.arrangement.root:
            slots = [[] for _ in slots]
        return Serving(slots, self._taken(slots))

    def _taken(self, slots: Sequence[Sequence[int]]) -> list[tuple[int, Mapping[str, int]]] | None:
        resolved = self._resolved
        chosen = [of_request[0] for of_request in slots if len(of_request) == 1]
        if len(chosen) < len(slots):
            return None
        # Where providers stand to each other in the tree, or combine, is for a search to say.
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
        taken: dict[int, dict[str, int]] = {}
        for request, slot in zip(requests, chosen, strict=True):
            of_slot = taken.setdefault(slot, {})
            for name, amount in request.amounts.items():
                of_slot[name] = of_slot.get(name, 0) + amount
        return [(slot, amounts) for slot, amounts in taken.items() if amounts]


def _pools(tree: Tree, providers: Sequence[Provider], serving: Serving) -> set[Provider]:
    """The providers that serve a tree and that other trees may use, too."""
    return {
        provider
        for slots in serving.slots
        for provider in [providers[slot] for slot in slots]
        if provider.root_id != tree.root_id or provider.kind.profile.is_sharing
    }


def _tied(trees: Sequence[SharingTree]) -> Iterator[Sequence[SharingTree]]:
    """The trees that are tied together by the providers they share, whether directly or not."""
    parents: dict[Provider, Provider] = {}

    def representative(pool: Provider) -> Provider:
        while (parent := parents.setdefault(pool, pool)) is not pool:
            parents[pool] = pool = parents[parent]
        return pool

    for tree in trees:
        first, *others = map(representative, tree.pools)
        parents.update(dict.fromkeys(others, first))
    tied: dict[Provider, list[SharingTree]] = {}
    for tree in trees:
        tied.setdefault(representative(next(iter(tree.pools))), []).append(tree)
    yield from tied.values()
