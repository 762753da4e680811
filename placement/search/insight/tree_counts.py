# SPDX-License-Identifier: Apache-2.0
"""The count of each tree, by whichever way suits the request and the tree.

Trees that share providers are counted after each other, each with what those before it have left.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from placement.search.insight.claims import Claims, emptied, emptied_tree
from placement.search.insight.closed_form import Count, Room, Servers, Taken, quotients
from placement.search.insight.sliced_work import SlicedWork
from placement.search.insight.tree_states import State, TreeStates
from placement.search.model.provider import Provider
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree
from placement.search.solver.resolved_request import ResolvedRequest

NONE = Count(0, 0)


class Serving(NamedTuple):
    """The slots of trees of one state that serve each provider request if nothing is used, and the
    amounts that one consumer takes of each slot: None where there is a choice, or where it is not
    amounts alone that decide."""

    slots: Sequence[Sequence[int]]
    can_serve: bool
    taken: Sequence[tuple[int, Mapping[str, int]]] | None


class SharingTree(NamedTuple):
    """A tree that can use sharing providers, and who serves each provider request there."""

    tree: Tree
    servers: Servers
    taken: Taken | None
    pools: frozenset[Provider]


class Side:
    """One of the two counts: of the cloud as it is, or as it would be if nothing were used.

    `total` is what was counted so far, and `rows` the counts of the wanted trees by root id, each
    as if nobody claimed from any other.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        request: CandidateRequest,
        resolved: ResolvedRequest,
        work: SlicedWork,
        is_empty: bool,
    ) -> None:
        self._given = snapshot
        self._work = work
        self.room = Room(resolved, is_empty)
        self.claims = Claims(snapshot, request, work)
        self.alone = Claims(snapshot, request, work)
        self.total = NONE
        self.rows: dict[int, Count] = {}
        self._known: dict[object, Count] = {}

    @functools.cached_property
    def snapshot(self) -> Snapshot:
        """The cloud at first."""
        return emptied(self._given) if self.room.is_empty else self._given

    def of_tree(self, tree: Tree, servers: Servers, is_named: bool) -> Count:
        """The count of a tree that uses nothing of any other, by claims; alike ones once, but for
        such as `in_tree` names."""
        state = tree.root_id if is_named else (tree.shape, tree.usage)
        count = self._known.get(state)
        if count is None:
            unused = emptied_tree(tree) if self.room.is_empty else tree
            most = self.room.most(servers)
            count = _bounded(self.claims.on_tree(unused), most) if most else NONE
            self._known[state] = count
        return count

    def of_shared(self, sharing: SharingTree) -> Count:
        """The count of a tree that can use sharing providers if no other used them."""
        if sharing.taken is not None:
            return Count.exactly(min(self.room.times(*one) for one in sharing.taken))
        most = self.room.most(sharing.servers)
        self.alone.snapshot = self.snapshot
        return _bounded(self.alone.on_shared(sharing.tree), most) if most else NONE

    def add_sharing(self, trees: Sequence[SharingTree]) -> None:
        """Count all trees that can use sharing providers, one after the other.

        The upper bound is, of those that share with each other, what each has for itself, and
        what all have together.
        """
        chosen, least, most = list[Tree](), 0, 0
        for tree, servers, taken, _ in trees:
            self._count_work(len(servers))
            if taken is None:
                chosen.append(tree)
            else:
                least += self.room.take(taken)
        if chosen:
            self.claims.snapshot = self.room.left_of(self.snapshot)
        least += sum(self.claims.on_shared(tree)[0] for tree in chosen)
        for tied in _tied(trees):
            self._count_work(len(tied) * len(tied[0].servers))
            every = zip(*(one.servers for one in tied), strict=True)
            joint = self.room.most(
                [{p for serving in of_all for p in serving} for of_all in every]
            )
            most += min(sum(self.room.most(one.servers) for one in tied), joint)
        self.total += Count(least, most)

    def _count_work(self, places: int) -> None:
        self._work.spent += places
        self._work.pause_if_due()


def _bounded(claimed: tuple[int, bool], most: int) -> Count:
    """The count of a tree for itself.

    Another order of claims may reach more, unless there was no candidate from the start.
    """
    made, is_cut = claimed
    return Count(made, most if made or is_cut else 0)


class TreeCounts:
    """Counts the trees of a snapshot: `now` and `if_empty`.

    `totals` is all that one consumer takes, by class. `wanted` are the root ids of trees that have
    a row each.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        request: CandidateRequest,
        work: SlicedWork,
        wanted: Collection[int],
    ) -> None:
        self.snapshot = snapshot
        self.work = work
        self._wanted = wanted
        self._resolved = resolved = ResolvedRequest.of(snapshot, request)
        self.totals: Mapping[str, int] = resolved.totals
        self.now = Side(snapshot, request, resolved, work, is_empty=False)
        self.if_empty = Side(snapshot, request, resolved, work, is_empty=True)
        self._sides = (self.now, self.if_empty)
        self._states = TreeStates(snapshot, resolved, work)
        self._serving: dict[State, Serving] = {}
        self._sharing: list[SharingTree] = []
        self.exactly_now = self.exactly_if_empty = 0
        # Providers that serve the only request, each of which may be reached from several trees.
        self._served: set[int] = set()
        if self.totals:
            self._count()
        else:
            for side in self._sides:
                side.rows = dict.fromkeys(wanted, NONE)

    @property
    def claims_made(self) -> int:
        """The number of consumers that were claimed on copies."""
        return sum(side.claims.made + side.alone.made for side in self._sides)

    def _count(self) -> None:
        requests = len(self._resolved.provider_requests)
        for block in self.snapshot.blocks.values():
            for tree in block.trees.values():
                self._add(tree)
            self.work.spent += len(block.trees) * requests
            self.work.pause_if_due()
        for side in self._sides:
            side.add_sharing(self._sharing)
        self.now.total += Count.exactly(self.exactly_now)
        self.if_empty.total += Count.exactly(self.exactly_if_empty)

    def _add(self, tree: Tree) -> None:
        state = self._states.state(tree)
        serving = self._serving.get(state)
        if serving is None:
            serving = self._serving[state] = self._new_serving(state)
        if not serving.can_serve:
            if tree.root_id in self._wanted:
                self._add_counts(tree, (NONE, NONE))
            return
        providers = tree.members
        if state.arrangement.sharing:
            providers = (*providers, *state.arrangement.sharing)
        taken: Taken | None = None
        if serving.taken is not None:
            taken = [(providers[slot], amounts) for slot, amounts in serving.taken]
        pools = self.snapshot.has_sharing and _pools(tree, providers, serving)
        if taken and not pools:
            now, if_empty = quotients(*taken[0])
            for provider, amounts in taken[1:]:
                others = quotients(provider, amounts)
                now, if_empty = min(now, others[0]), min(if_empty, others[1])
            self.exactly_now += now
            self.exactly_if_empty += if_empty
            if tree.root_id in self._wanted:
                self.now.rows[tree.root_id] = Count(now, now)
                self.if_empty.rows[tree.root_id] = Count(if_empty, if_empty)
            return
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
        self.work.spent += len(tree.members)
        servers = [[providers[slot] for slot in slots] for slots in serving.slots]
        if len(servers) == 1:
            self._add_one_request(tree, servers[0])
        elif pools:
            sharing = SharingTree(tree, servers, taken, frozenset(pools))
            self._sharing.append(sharing)
            if tree.root_id in self._wanted:
                for side in self._sides:
                    side.rows[tree.root_id] = side.of_shared(sharing)
        else:
            is_named = tree.root_id in self._resolved.named_roots
            self._add_counts(tree, [side.of_tree(tree, servers, is_named) for side in self._sides])

    def _add_counts(self, tree: Tree, counts: Sequence[Count]) -> None:
        for side, count in zip(self._sides, counts, strict=True):
            side.total += count
            if tree.root_id in self._wanted:
                side.rows[tree.root_id] = count

    def _add_one_request(self, tree: Tree, providers: Sequence[Provider]) -> None:
        """Add the providers that no tree before has reached; all of them make the row."""
        for side in self._sides:
            often = {one.id: side.room.times(one, self.totals) for one in providers}
            new = sum(times for one, times in often.items() if one not in self._served)
            side.total += Count.exactly(new)
            if tree.root_id in self._wanted:
                side.rows[tree.root_id] = Count.exactly(sum(often.values()))
        self._served.update(one.id for one in providers)

    def _new_serving(self, state: State) -> Serving:
        table = self._states.table
        kept, slots = table.visible & ~table.free, list[list[int]]()
        gained = [0] * len(table.groups)
        for number, group in enumerate(table.group_of):
            serving = []
            for slot, elements in enumerate(state.elements):
                brought = [gain for mask, gain in elements[number] if not mask & kept]
                if brought:
                    serving.append(slot)
                    gained[group] |= brought[0]
            slots.append(serving)
        is_missing = any(g.collected & ~one for g, one in zip(table.groups, gained, strict=True))
        if is_missing or state.arrangement.root:
            slots = [[] for _ in slots]
        return Serving(slots, all(slots), self._taken(slots))

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
