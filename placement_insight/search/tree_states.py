# SPDX-License-Identifier: Apache-2.0
"""The conditions that the providers of a tree fail, computed once for all equal trees.

Providers differ in names (profiles) and in amounts. Trees whose profiles have the same roles for a
request share one `Arrangement`, and those among them whose providers fail the same amounts one
`TreeState`. So only amounts are compared for each tree; all else is computed for states.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from placement.search.model.capacity import Capacity, Refusal
from placement.search.model.kind import Profile
from placement.search.model.provider import Provider
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Structure, Tree
from placement.search.solver.resolved_request import ResolvedRequest
from placement.search.solver.role import Role
from placement_insight.search.condition import ConditionTable
from placement_insight.search.sliced_work import SlicedWork

# Ways to serve a provider request: the conditions that each fails, and the collected traits that
# it brings.
Elements = tuple[tuple[int, int], ...]


# The amounts of a role: the position of the class, the amount, and the bits of a wrong size, of an
# amount that is not free, and of a class without any free amount.
Needs = tuple[tuple[int, int, int, int, int], ...]


class Arrangement:
    """Trees whose members, and the sharing providers they reach, have the same roles.

    `root` has the conditions that their roots fail. `slots` has the elements, without amounts, of
    each of these providers for each provider request. `sharing` are the sharing providers, and
    `sharing_masks` the amounts that they fail.
    """

    __slots__ = ('needs', 'root', 'sharing', 'sharing_masks', 'slots', 'states')

    def __init__(
        self,
        needs: Sequence[Needs],
        root: int,
        slots: Sequence[Sequence[Elements]],
        sharing: tuple[Provider, ...],
    ) -> None:
        members = len(needs) - len(sharing)
        self.needs = needs[:members]
        self.root = root
        self.slots = slots
        self.sharing = sharing
        self.sharing_masks = list(map(amounts_mask, needs[members:], sharing))
        self.states: dict[tuple[int, ...], TreeState] = {}


class TreeState:
    """Trees of one arrangement whose providers fail the same amounts.

    `elements` has the ways to serve each provider request in each slot; slots are the members,
    then the sharing providers.
    """

    __slots__ = ('_maxima', '_parts', 'arrangement', 'elements', 'trees')

    def __init__(
        self, arrangement: Arrangement, masks: Sequence[int], asked: Sequence[int]
    ) -> None:
        self.arrangement = arrangement
        self.trees: list[Tree] = []
        self.elements = [
            tuple(map(_with_amounts, slot, [mask & bits for bits in asked])) if mask else slot
            for slot, mask in zip(
                arrangement.slots, (*masks, *arrangement.sharing_masks), strict=True
            )
        ]
        self._parts: tuple[Elements, ...] | None = None
        self._maxima: dict[tuple[int, str], Maximum | None] = {}

    @property
    def parts(self) -> tuple[Elements, ...]:
        """The minimal ways to serve each provider request in any slot."""
        if self._parts is None:
            by_request = zip(*self.elements, strict=True)
            self._parts = tuple([minimal(itertools.chain.from_iterable(of)) for of in by_request])
        return self._parts

    def providers_of(self, tree: Tree) -> Sequence[Provider]:
        """Return the members of a tree, followed by the sharing providers that it reaches."""
        sharing = self.arrangement.sharing
        return (*tree.members, *sharing) if sharing else tree.members

    def maximum(self, slot: int, name: str, work: SlicedWork) -> Maximum | None:
        """Return the maximum of a class among providers in a slot, None without the class."""
        key = (slot, name)
        if key not in self._maxima:
            work.count(len(self.trees))
            members = len(self.arrangement.needs)
            if slot < members:
                providers = [tree.members[slot] for tree in self.trees]
            else:
                providers = [self.arrangement.sharing[slot - members]]
            self._maxima[key] = _maximum_of(providers, name)
        return self._maxima[key]


def _with_amounts(ways: Elements, amounts: int) -> Elements:
    return tuple([(mask | amounts, gained) for mask, gained in ways]) if amounts else ways


class Maximum(NamedTuple):
    """The capacity with the largest amount for one consumer, and the largest free amount."""

    capacity: Capacity
    free: int

    @classmethod
    def of(cls, maxima: Collection[Maximum]) -> Maximum | None:
        """Return the maximum of several, None without any."""
        if not maxima:
            return None
        capacity = max((maximum.capacity for maximum in maxima), key=_rank)
        return cls(capacity, max(maximum.free for maximum in maxima))


# A total order, so that the same capacity is shown whatever the order of providers is.
_rank = operator.attrgetter('largest', 'total', 'min_unit', 'step_size')


def _maximum_of(providers: Sequence[Provider], name: str) -> Maximum | None:
    """Return the maximum of a class among providers with the same classes."""
    position = providers[0].kind.profile.position.get(name)
    if position is None:
        return None
    capacities = [provider.kind.capacities[position] for provider in providers]
    used = [provider.used[position] for provider in providers]
    # By identity first: thousands of hosts share a few capacities.
    largest = max({id(capacity): capacity for capacity in capacities}.values(), key=_rank)
    return Maximum(largest, max(map(Capacity.room, capacities, used)))


class TreeStates:
    """The states of the trees of a snapshot, for one request."""

    def __init__(self, snapshot: Snapshot, resolved: ResolvedRequest, work: SlicedWork) -> None:
        self.snapshot = snapshot
        self.table = ConditionTable(resolved)
        self._bits = resolved.bits
        self.work = work
        self.named_roots = resolved.named_roots
        self._asked = [
            sum(
                amount.size | amount.free | amount.some
                for name in request.amounts
                for amount in [self.table.groups[group].amounts[name]]
            )
            for request, group in zip(self.table.requests, self.table.group_of, strict=True)
        ]
        self._needs: dict[tuple[int, ...], Needs] = {}
        self._arrangements: dict[object, Arrangement] = {}
        self._of_structure: dict[Structure, Arrangement] = {}

    def state(self, tree: Tree) -> TreeState:
        """Return the state of a tree."""
        structure = tree.shape.structure
        arrangement = self._of_structure.get(structure)
        if arrangement is None or tree.root_id in self.named_roots:
            arrangement = self._arrangement(tree, structure)
        masks = tuple(map(amounts_mask, arrangement.needs, tree.members))
        state = arrangement.states.get(masks)
        if state is None:
            self.work.spent += len(arrangement.slots) * len(self._asked)
            state = arrangement.states[masks] = TreeState(arrangement, masks, self._asked)
        return state

    def _arrangement(self, tree: Tree, structure: Structure) -> Arrangement:
        """Return the arrangement of a tree, and cache it for its structure where it applies."""
        sharing = tuple(self.snapshot.sharing_with(tree))
        roles = tuple(map(self._role, structure.profiles))
        if sharing:
            roles += tuple([self._role(provider.kind.profile) for provider in sharing])
        named = tree.root_id if tree.root_id in self.named_roots else None
        key = (named, roles, sharing)
        arrangement = self._arrangements.get(key)
        if arrangement is None:
            self.work.count(len(roles) * len(self.table.requests))
            members = len(structure.profiles)
            roots = [tree.root_id] * members + [provider.root_id for provider in sharing]
            slots = [
                self._elements(role.failed, roles[0].failed, root_id, slot < members)
                for slot, (role, root_id) in enumerate(zip(roles, roots, strict=True))
            ]
            root = roles[0].failed & self._bits.of_root
            needs = [self._needs_of(role) for role in roles]
            arrangement = self._arrangements[key] = Arrangement(needs, root, slots, sharing)
        if named is None and not structure.has_sharing:
            self._of_structure[structure] = arrangement
        return arrangement

    def _elements(
        self, failed: int, failed_by_root: int, root_id: int, is_member: bool
    ) -> Sequence[Elements]:
        """Return the elements of a provider, without amounts, by provider request."""
        slot = []
        for request, number in zip(self.table.requests, self.table.group_of, strict=True):
            gained = self.table.groups[number].bits.collected & ~failed
            ways = request.failures(failed, failed_by_root, root_id, is_member)
            slot.append(minimal((mask, gained) for mask in ways))
        return slot

    def _role(self, profile: Profile) -> Role:
        self.work.compare(self._bits.comparisons)
        return self._bits.role(profile)

    def _needs_of(self, role: Role) -> Needs:
        needs = self._needs.get(role.positions)
        if needs is None:
            position = dict(zip(self._bits.classes, role.positions, strict=True))
            needs = self._needs[role.positions] = tuple([
                (position[name], asked, size, free, some)
                for group in self.table.groups
                for name, asked, _, size, free, some in group.amounts.values()
                if position[name] >= 0
            ])  # fmt: skip
        return needs


def amounts_mask(needs: Needs, provider: Provider) -> int:
    """Return the bits of the amounts that a provider fails."""
    mask, capacities, used = 0, provider.kind.capacities, provider.used
    for position, asked, size, free, some in needs:
        capacity, taken = capacities[position], used[position]
        if capacity.takes_any and asked <= capacity.room(taken):
            continue
        refusal = capacity.refusal(asked, taken)
        if refusal is not None:
            mask |= free if refusal is Refusal.USED else size
            if not capacity.largest_fit(taken):
                mask |= some
    return mask


def _fewest_failures(element: tuple[int, int]) -> tuple[int, int]:
    return element[0].bit_count(), -element[1].bit_count()


def minimal(elements: Iterable[tuple[int, int]]) -> Elements:
    """Return the elements without those that another one dominates.

    A dominating element fails no other conditions, and brings at least the same traits.
    """
    different = set(elements)
    if len(different) == 1:
        return tuple(different)
    kept: list[tuple[int, int]] = []
    # Sorted by failures, then by traits, so that dominating elements come first.
    for mask, gained in sorted(different, key=_fewest_failures):
        if not any(not other & ~mask and not gained & ~brought for other, brought in kept):
            kept.append((mask, gained))
    return tuple(sorted(kept))
