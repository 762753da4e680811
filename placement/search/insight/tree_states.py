# SPDX-License-Identifier: Apache-2.0
"""The conditions that the providers of a tree fail, worked out once for all alike trees.

Providers differ in names (profiles) and in amounts. Trees whose profiles answer a request alike
have one `Arrangement`, and those of them whose providers fail the same amounts one `TreeState`; so
for each tree only amounts are compared, and whatever else is asked is asked of states.
"""

from __future__ import annotations

import dataclasses
import itertools
import operator
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from placement.search.insight.condition import ConditionTable, failed_bits
from placement.search.insight.sliced_work import SlicedWork
from placement.search.model.capacity import Capacity, Refusal
from placement.search.model.kind import Profile
from placement.search.model.provider import Provider
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Structure, Tree
from placement.search.solver.resolved_request import ResolvedRequest

# The ways to be served by some providers: the conditions that each fails, and the collected
# traits it brings.
Elements = tuple[tuple[int, int], ...]


# The amounts that providers of a profile are asked for: the position of the class, the amount, and
# the bits that its size, that it is free, and that anything is free have.
Needs = tuple[tuple[int, int, int, int, int], ...]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Role:
    """The conditions that providers of alike profiles fail, whatever their amounts.

    `missing` are by provider request those on classes, `failed` by group those on names, and
    `root` those that a root fails.
    """

    needs: Needs
    missing: tuple[int, ...]
    failed: tuple[int, ...]
    root: int


class Arrangement:
    """Trees whose members, and the sharing providers they reach, have the same roles.

    `slots` has for each of these providers, and each provider request, the elements without the
    amounts; `sharing` are the sharing providers, and `sharing_masks` the amounts they fail.
    """

    __slots__ = ('needs', 'root', 'sharing', 'sharing_masks', 'slots', 'states')

    def __init__(
        self,
        roles: Sequence[Role],
        slots: Sequence[Sequence[Elements]],
        sharing: tuple[Provider, ...],
    ) -> None:
        self.needs = [role.needs for role in roles[: len(roles) - len(sharing)]]
        self.root = roles[0].root
        self.slots = slots
        self.sharing = sharing
        self.sharing_masks = [
            amounts_mask(role.needs, provider)
            for role, provider in zip(roles[len(self.needs) :], sharing, strict=True)
        ]
        self.states: dict[tuple[int, ...], TreeState] = {}


class TreeState:
    """Trees of one arrangement whose providers fail the same amounts.

    `elements` has for each slot (the members, then the sharing providers) and each provider
    request the ways to be served there, `parts` for each provider request the least of them all.
    """

    __slots__ = ('_maxima', 'arrangement', 'elements', 'parts', 'trees')

    def __init__(
        self, arrangement: Arrangement, masks: Sequence[int], asked: Sequence[int]
    ) -> None:
        self.arrangement = arrangement
        self.trees: list[Tree] = []
        self.elements = [
            tuple(
                [_with_amounts(ways, mask & bits) for ways, bits in zip(slot, asked, strict=True)]
            )
            for slot, mask in zip(
                arrangement.slots, (*masks, *arrangement.sharing_masks), strict=True
            )
        ]
        by_request = zip(*self.elements, strict=True)
        self.parts = tuple([least(itertools.chain.from_iterable(of)) for of in by_request])
        self._maxima: dict[tuple[int, str], Maximum | None] = {}

    def providers_of(self, tree: Tree) -> Sequence[Provider]:
        """The members of one of its trees, and after them the sharing providers it reaches."""
        sharing = self.arrangement.sharing
        return (*tree.members, *sharing) if sharing else tree.members

    def maximum(self, slot: int, name: str, work: SlicedWork) -> Maximum | None:
        """The most that a provider in this slot has of a class, None where it has none."""
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
    """The capacity of which one consumer may take most when it is empty, and the most free."""

    capacity: Capacity
    free: int

    @classmethod
    def of(cls, maxima: Collection[Maximum]) -> Maximum | None:
        """The most of all, None where there are none."""
        if not maxima:
            return None
        capacity = max((maximum.capacity for maximum in maxima), key=_rank)
        return cls(capacity, max(maximum.free for maximum in maxima))


# Of several with the largest, whichever comes first, the same one is shown.
_rank = operator.attrgetter('largest', 'total', 'min_unit', 'step_size')


def _maximum_of(providers: Sequence[Provider], name: str) -> Maximum | None:
    """The most that one of some providers, which have the same classes, has of a class."""
    position = providers[0].kind.profile.position.get(name)
    if position is None:
        return None
    capacities = [provider.kind.capacities[position] for provider in providers]
    used = [provider.used[position] for provider in providers]
    # Of ten thousand hosts most have the same few.
    largest = max({id(capacity): capacity for capacity in capacities}.values(), key=_rank)
    return Maximum(largest, max(map(Capacity.room, capacities, used)))


class TreeStates:
    """The states of the trees of a snapshot, for one request."""

    def __init__(self, snapshot: Snapshot, resolved: ResolvedRequest, work: SlicedWork) -> None:
        self.snapshot = snapshot
        self.table = ConditionTable(resolved)
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
        self._roles: dict[object, Role] = {}
        self._arrangements: dict[object, Arrangement] = {}
        self._of_structure: dict[Structure, Arrangement] = {}

    def state(self, tree: Tree) -> TreeState:
        """The state that a tree has."""
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
        """The arrangement of a tree; of others of its structure, too, unless it is special."""
        sharing = tuple(self.snapshot.sharing_with(tree))
        roles = tuple(map(self._role, structure.profiles))
        if sharing:
            roles += tuple([self._role(provider.kind.profile) for provider in sharing])
        named = tree.root_id if tree.root_id in self.named_roots else None
        key = (named, roles, sharing)
        arrangement = self._arrangements.get(key)
        if arrangement is None:
            self.work.spent += len(roles)
            members = len(structure.profiles)
            roots = [tree.root_id] * members + [provider.root_id for provider in sharing]
            slots = [
                self._elements(role, roles[0], root_id, slot < members)
                for slot, (role, root_id) in enumerate(zip(roles, roots, strict=True))
            ]
            arrangement = self._arrangements[key] = Arrangement(roles, slots, sharing)
        if named is None and not structure.has_sharing:
            self._of_structure[structure] = arrangement
        return arrangement

    def _elements(
        self, role: Role, root: Role, root_id: int, is_member: bool
    ) -> Sequence[Elements]:
        """The elements of a provider without amounts, by provider request.

        `root` is that of the tree it serves. An aggregate of it spans the tree, but for groups
        that one provider serves, and not the sharing providers of other trees; nor do these serve
        an unsuffixed group with `in_tree`.
        """
        slot = []
        for request, number in zip(self.table.requests, self.table.group_of, strict=True):
            group, own, above = self.table.groups[number], role.failed[number], root.failed[number]
            fixed = role.missing[request.number] | above & group.barred
            fixed |= own & ~(group.collected | group.wanted)
            if root_id != group.tree_id or not (is_member or request.is_suffixed):
                fixed |= group.tree_bit
            gained = group.collected & ~own
            outside = [own, above] if is_member else [own]
            slot.append(least((fixed | mask & group.wanted, gained) for mask in outside))
        return slot

    def _role(self, profile: Profile) -> Role:
        key = (
            profile.classes,
            *[getattr(profile, held) & names for held, names in self.table.names.items()],
        )
        role = self._roles.get(key)
        if role is None:
            role = self._roles[key] = self._new_role(profile)
        return role

    def _new_role(self, profile: Profile) -> Role:
        table, position = self.table, profile.position
        amounts = [amount for group in table.groups for amount in group.amounts.values()]
        return Role(
            tuple([
                (position[name], asked, size, free, some)
                for name, asked, _, size, free, some in amounts if name in position
            ]),
            tuple([
                sum(
                    table.groups[number].amounts[name].present
                    for name in request.amounts if name not in position
                )
                for request, number in zip(table.requests, table.group_of, strict=True)
            ]),
            tuple([failed_bits(group.named, profile) for group in table.groups]),
            failed_bits(table.root_conditions, profile),
        )  # fmt: skip


def amounts_mask(needs: Needs, provider: Provider) -> int:
    """The bits of the amounts that a provider does not have."""
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


def least(elements: Iterable[tuple[int, int]]) -> Elements:
    """The elements without those that fail all that another one fails and bring no more."""
    kept: list[tuple[int, int]] = []
    # Fewer failures come first, and of as many those that bring more.
    for mask, gained in sorted(set(elements), key=_fewest_failures):
        if not any(not other & ~mask and not gained & ~brought for other, brought in kept):
            kept.append((mask, gained))
    return tuple(sorted(kept))
