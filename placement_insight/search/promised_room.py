# SPDX-License-Identifier: Apache-2.0
"""The room for consumers of a promised request, and the candidates that would take it.

The count of a tree is exact without a search, and depends on that tree alone, for requests with
one unsuffixed group and without sharing providers: each class is served for itself, so the count
is the minimum over the classes of the sums over the providers. `refusal_of` has the conditions.
"""

import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from types import MappingProxyType
from typing import NamedTuple

from placement.search.candidate import Candidate
from placement.search.model.block import Block
from placement.search.model.indexes import Indexes
from placement.search.model.request import AnyOf, CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Structure, Tree, UsedAmounts
from placement.search.solver.resolved_request import ResolvedRequest

# Maximum number of consumers that an empty tree has room for, if their room can be kept: promises
# of small consumers would withhold the whole cloud.
MAX_ON_EMPTY_HOST = 10

# Number of steps in a search after which candidates are offered undecided.
MAX_STEPS = 50_000

# The position of a provider in its tree, and of a class among its inventories.
Place = tuple[int, int]
NOTHING: Mapping[Place, int] = MappingProxyType({})


class Places(NamedTuple):
    """The places that serve each class, without regard to amounts.

    Not exact where traits decide which providers serve together.
    """

    of_class: Sequence[Sequence[Place]]
    is_exact: bool


class BlockRoom(NamedTuple):
    """The counts of the trees of one block, 0 where undecided, and the largest.

    `total` is their sum, with the most that undecided trees may have room for.
    """

    block: Block
    counts: Sequence[int]
    total: int
    largest: int


class PromisedRoom:
    """Counts the consumers of one request that trees have room for.

    Counts of blocks are cached, so that a change of a tree costs the count of its block.
    """

    def __init__(self, request: CandidateRequest) -> None:
        # The request names no tree, so any snapshot resolves it.
        self._resolved = ResolvedRequest.of(Snapshot.of(()), request)
        self.request = request
        self._classes = frozenset(self._resolved.totals)
        self._blocks: dict[int, BlockRoom] = {}
        self._places: weakref.WeakKeyDictionary[Structure, Places] = weakref.WeakKeyDictionary()
        self._pooled: tuple[Indexes, bool] | None = None
        self._lock = threading.Lock()

    def is_pooled(self, snapshot: Snapshot) -> bool:
        """True if a sharing provider has a class of the request."""
        known = self._pooled
        if known is None or known[0] is not snapshot.indexes:
            known = self._pooled = snapshot.indexes, has_pool(snapshot, self._classes)
        return known[1]

    def of_all(self, snapshot: Snapshot) -> tuple[int, int]:
        """Return the sum of the counts of all trees, and the largest count of one tree.

        Undecided trees have a part in the sum, the most that they may have room for.
        """
        rooms = self._of_blocks(snapshot)
        return sum(room.total for room in rooms), max((r.largest for r in rooms), default=0)

    def held_trees(self, snapshot: Snapshot, promised: int) -> int:
        """Return the number of trees of which a claim of all room would be withheld."""
        rooms = self._of_blocks(snapshot)
        to_spare = max(sum(room.total for room in rooms) - promised, 0)
        return sum(
            count > to_spare for room in rooms if room.largest > to_spare for count in room.counts
        )

    def _of_blocks(self, snapshot: Snapshot) -> Sequence[BlockRoom]:
        with self._lock:
            blocks = self._blocks
            for number, block in snapshot.blocks.items():
                known = blocks.get(number)
                if known is None or known.block is not block:
                    blocks[number] = self._of_block(block)
            if len(blocks) > len(snapshot.blocks):
                blocks = self._blocks = {number: blocks[number] for number in snapshot.blocks}
            return list(blocks.values())

    def _of_block(self, block: Block) -> BlockRoom:
        most = [self.of_tree(tree) for tree in block.trees.values()]
        decided = map(self.decides, block.trees.values())
        counts = [count if is_exact else 0 for count, is_exact in zip(most, decided, strict=True)]
        return BlockRoom(block, counts, sum(most), max(counts))

    def decides(self, tree: Tree) -> bool:
        """True if the count of a tree is exact.

        Otherwise it disregards traits of several providers, and is the most that it may be.
        """
        return self._places_in(tree.shape.structure).is_exact

    def of_tree(
        self, tree: Tree, taken: Mapping[Place, int] = NOTHING, used: UsedAmounts | None = None
    ) -> int:
        """Return the count of a tree, the most that it may be if it is not decided (`decides`).

        `used` replaces the usage of the tree; `taken` is added to it.
        """
        places = self._places_in(tree.shape.structure).of_class
        used, kinds = tree.usage if used is None else used, tree.shape.kinds
        least: int | None = None
        for amount, servers in zip(self._resolved.totals.values(), places, strict=True):
            room = 0
            for place in servers:
                slot, position = place
                capacity = kinds[slot].capacities[position]
                if amount > capacity.largest or capacity.unit_refusal(amount):
                    continue
                left = capacity.ceiling - used[slot][position] - taken.get(place, 0)
                if left > 0:
                    room += left // amount
            if not room:
                return 0
            least = room if least is None else min(least, room)
        return least or 0

    def taken_by(self, candidate: Candidate, tree: Tree) -> dict[Place, int]:
        """Return the amounts of the request's classes that a candidate takes from a tree."""
        taken = {}
        for number in candidate.layout.allocated:
            provider = candidate.providers[number]
            if provider.root_id != tree.root_id:
                continue
            slot = tree.position(provider.id)
            for name, amount in candidate.layout.amounts[number].items():
                if name in self._classes:
                    taken[slot, provider.kind.profile.position[name]] = amount
        return taken

    def is_without_choice(self, tree: Tree, taken: Iterable[Place]) -> bool:
        """True if no other provider of a tree has any of the classes taken.

        Then all candidates of one request take the same from it.
        """
        profiles = tree.shape.structure.profiles
        names = {profiles[slot].classes[position] for slot, position in taken}
        return sum(name in profile.position for profile in profiles for name in names) == len(
            names
        )

    def steps_in(self, tree: Tree) -> int:
        """Return the number of steps to count a tree."""
        return len(self._resolved.totals) * len(tree.members)

    def _places_in(self, structure: Structure) -> Places:
        if structure not in self._places:
            self._places[structure] = self._new_places(structure)
        return self._places[structure]

    def _new_places(self, structure: Structure) -> Places:
        bits, collected = self._resolved.bits, self._resolved.collected
        roles = [bits.role(profile) for profile in structure.profiles]
        requests = self._resolved.provider_requests
        nowhere: list[list[Place]] = [[] for _ in requests]
        if roles[0].failed & bits.of_root:
            return Places(nowhere, True)
        places, found = [], 0
        for request, name in zip(requests, self._resolved.totals, strict=True):
            serving = [
                slot
                for slot, role in enumerate(roles)
                if 0 in request.failures(role.failed, roles[0].failed, 0, is_member=True)
            ]
            lacking = collected & ~found
            for slot in serving:
                lacking &= ~roles[slot].failed
            # The traits that each provider of the class has.
            found |= lacking if serving else 0
            places.append([(slot, structure.profiles[slot].position[name]) for slot in serving])
        if not all(places):
            return Places(nowhere, True)
        if found == collected:
            return Places(places, True)
        # Nobody has a trait, or a choice of providers has to have it.
        has = 0
        for slot, _ in {place for servers in places for place in servers}:
            has |= collected & ~roles[slot].failed
        return Places(places, False) if has == collected else Places(nowhere, True)


def has_pool(snapshot: Snapshot, classes: Set[str]) -> bool:
    """True if a sharing provider has one of the classes."""
    return any(
        not classes.isdisjoint(provider.kind.profile.position)
        for provider in snapshot.sharing_providers
    )


def refusal_of(request: CandidateRequest, snapshot: Snapshot) -> str | None:
    """Return the reason why a promise of a request cannot be kept; None if it can."""
    refusal = refusal_of_request(request)
    if refusal is not None:
        return refusal
    room = PromisedRoom(request)
    if room.is_pooled(snapshot):
        return 'sharing providers have a resource class of the request'
    for tree in snapshot.trees():
        often = room.of_tree(tree, used=tree.shape.unused)
        name = tree.members[0].uuid
        if not room.decides(tree):
            return f'providers of {name} have only together the traits of the request'
        if often > MAX_ON_EMPTY_HOST:
            return (
                f'{name} has room for {often} when it is empty, and only consumers of at least a '
                'tenth of a host can have room kept'
            )
    return None


def refusal_of_request(request: CandidateRequest) -> str | None:
    """Return the reason why a promise of a request can be kept in no cloud; None if it can."""
    if len(request.groups) != 1 or request.groups[0].is_suffixed:
        return 'the request has to have one group without a suffix'
    group = request.groups[0]
    if group.in_tree is not None:
        return 'the request names a tree'
    if len(group.resources) < 2:
        return 'the request has to have at least two resource classes'
    return None


def is_exempt(asked: CandidateRequest, promised: CandidateRequest) -> bool:
    """True if a request is one of those that the room is promised to.

    One of its groups asks for at least the amounts, the traits and the aggregates.
    """
    (wanted,) = promised.groups
    return promised.root_required <= asked.root_required and any(
        all(group.resources.get(name, 0) >= n for name, n in wanted.resources.items())
        and _implies(group.required, wanted.required)
        and _implies(group.member_of, wanted.member_of)
        for group in asked.groups
    )


def _implies(asked: Sequence[AnyOf], wanted: Sequence[AnyOf]) -> bool:
    """True if whatever has a name of each asked set has one of each wanted set."""
    return all(any(given <= names for given in asked) for names in wanted)


class Guard(NamedTuple):
    """A promise with little room left: its name, its number, its room in a tree and in all."""

    name: str
    promised: int
    room: PromisedRoom
    total: int

    def is_broken_by(self, tree: Tree, taken: Mapping[Place, int]) -> bool:
        """True if these amounts take promised room: less is left than before and than promised."""
        if not self.room.decides(tree):
            return False
        before, after = self.room.of_tree(tree), self.room.of_tree(tree, taken)
        return after < before and self.total - before + after < self.promised


class GuardedOffer:
    """Withholds the candidates of one search that would take promised room.

    `undecided` is called for each candidate that is offered because the steps were spent, and
    `failed` after a defect, which offers the remaining candidates.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        guards: Sequence[Guard],
        undecided: Callable[[], None],
        failed: Callable[[], None],
    ) -> None:
        self._snapshot = snapshot
        self._guards = guards
        self._undecided = undecided
        self._failed = failed
        self._steps = 0
        # The decisions on equal amounts taken from alike trees.
        self._known: dict[object, bool] = {}
        self._withheld: dict[str, set[int]] = {}
        # The ids of the roots of trees that have no other candidates than withheld ones, and after
        # the steps were spent, of all with a withheld one.
        self.closed: set[int] = set()

    @property
    def by_promise(self) -> Mapping[str, int]:
        """The number of trees with withheld candidates, by the first promise that does it."""
        return {name: len(roots) for name, roots in self._withheld.items()}

    @property
    def withheld(self) -> Mapping[str, int]:
        """The same, by reason."""
        return {f'promise {name}': trees for name, trees in self.by_promise.items()}

    def admits(self, candidate: Candidate) -> bool:
        """True unless the candidate would take room that one of the promises needs."""
        try:
            return all(self._admits(guard, candidate) for guard in self._guards)
        except Exception:
            self._guards = ()
            self._failed()
            return True

    def _admits(self, guard: Guard, candidate: Candidate) -> bool:
        for root_id in {provider.root_id for provider in candidate.providers}:
            tree = self._snapshot.tree(root_id)
            taken = guard.room.taken_by(candidate, tree)
            if not taken:
                continue
            key = guard.name, tree.shape, tree.usage, tuple(taken.items())
            is_broken, are_spent = self._known.get(key), self._steps >= MAX_STEPS
            if is_broken is None:
                if are_spent:
                    self._undecided()
                    return True
                self._steps += 2 * guard.room.steps_in(tree)
                is_broken = guard.is_broken_by(tree, taken)
                self._known[key] = is_broken
            else:
                self._steps += 1
            if is_broken:
                # Many devices have many candidates that take the same promised room.
                if are_spent or guard.room.is_without_choice(tree, taken):
                    self.closed.add(root_id)
                self._withheld.setdefault(guard.name, set()).add(root_id)
                return False
        return True


def guards_of(
    snapshot: Snapshot,
    asked: CandidateRequest,
    promises: Iterable[tuple[str, int, PromisedRoom]],
) -> list[Guard]:
    """Return the promises that a candidate of a request may break, with their room.

    The promises are given by name, number and room. Left out are those that the request is
    exempt from, and those with more room to spare than one tree holds.
    """
    guards = []
    for name, promised, room in promises:
        if is_exempt(asked, room.request) or room.is_pooled(snapshot):
            continue
        total, largest = room.of_all(snapshot)
        if largest > max(total - promised, 0):
            guards.append(Guard(name, promised, room, total))
    return guards
