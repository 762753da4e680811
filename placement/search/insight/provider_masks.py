# SPDX-License-Identifier: Apache-2.0
"""What stands in the way of providers, each looked at in its tree, alike ones once."""

import dataclasses
import sys

from placement.search.insight.amounts import Need, amounts_mask, largest_amount
from placement.search.insight.conditions import ConditionTable, Role
from placement.search.insight.sliced_work import SlicedWork
from placement.search.insight.tree_masks import Elements, Key, least
from placement.search.model.capacity import Capacity
from placement.search.model.kind import Profile
from placement.search.model.provider import Provider
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree
from placement.search.solver.bounded_cache import BoundedCache
from placement.search.solver.provider_request import ProviderRequest
from placement.search.solver.resolved_request import ResolvedRequest
from placement.search.solver.slots import sharing_with

# For how many states of trees, and profiles, it is remembered what they fail.
MAX_STATES = 10_000

# The most that anybody has where nobody meets the other conditions.
NOBODY = -sys.maxsize


@dataclasses.dataclass(slots=True)
class Most:
    """The most that one provider of some offers to one consumer when it is empty, by which
    capacity, and the most that one has free; `NOBODY` where there is none."""

    largest: int = NOBODY
    free: int = NOBODY
    capacity: Capacity | None = None


# By provider request what a provider fails as a member of its own tree.
ProviderKey = tuple[Elements, ...]
# What a provider of some profile fails when it is a tree of its own, and what of it has to be
# asked about amounts, each with the place where the most is noted.
FlatRole = tuple[int, tuple[tuple[Need, Most | None], ...]]


class ProviderMasks:
    """What providers of a snapshot fail of a request.

    `most` is, by group and class, the most of those looked at that meet all conditions but
    amounts.
    """

    def __init__(self, snapshot: Snapshot, resolved: ResolvedRequest, work: SlicedWork) -> None:
        self.snapshot = snapshot
        self.table = table = ConditionTable(resolved)
        self.work = work
        self.most: dict[tuple[int, str], Most] = {
            (number, name): Most()
            for number, group in enumerate(table.groups)
            for name in group.amounts
        }
        self._roles: BoundedCache[Profile, tuple[Role, ...]] = BoundedCache(MAX_STATES)
        self._flat_roles: dict[Profile, FlatRole] = {}
        self._alike_roles: BoundedCache[object, FlatRole] = BoundedCache(MAX_STATES)
        self._named_groups = [group for group in table.groups if group.tree is not None]
        self._sharing: BoundedCache[frozenset[str], list[Provider]] = BoundedCache(MAX_STATES)
        self._states: BoundedCache[object, tuple[Key, list[ProviderKey]]] = BoundedCache(
            MAX_STATES
        )
        self._named_roots = resolved.named_roots

    def is_flat(self, tree: Tree) -> bool:
        """Whether a tree is one provider that reaches no other."""
        return len(tree.members) == 1 and not (
            self.snapshot.has_sharing
            and self.snapshot.has_sharing_in(tree.shape.structure.aggregates)
        )

    def large_key(self, tree: Tree) -> tuple[Key, list[ProviderKey]]:
        """What stands in the way of a tree that is not flat, and of each of its members."""
        structure = tree.shape.structure
        if structure.has_sharing or tree.root_id in self._named_roots:
            return self._tree_key(tree)
        state = (tree.shape, tree.usage)
        known = self._states.get(state)
        if known is None:
            known = self._tree_key(tree)
            self._states.add(state, known)
        return known

    def flat_key(self, tree: Tree) -> int:
        """All bits that a tree of one provider fails."""
        provider = tree.members[0]
        kind, used = provider.kind, provider.used
        flat = self._flat_roles.get(kind.profile)
        if flat is None:
            flat = self._flat_role(kind.profile)
            if len(self._flat_roles) < MAX_STATES:
                self._flat_roles[kind.profile] = flat
        mask, needs = flat
        if self._named_groups:
            for group in self._named_groups:
                mask |= group.tree_mask(tree.root_id)
        capacities = kind.capacities
        # As `amounts_mask`, written out: this is most of the work in a cloud of unlike hosts.
        for (position, amount, size, free, some), most in needs:
            capacity = capacities[position]
            largest, room = capacity.largest, capacity.ceiling - used[position]
            if most is not None:
                if largest > most.largest:
                    most.largest, most.capacity = largest, capacity
                if room > most.free:
                    most.free = min(room, capacity.max_unit)
            if (
                amount > largest
                or amount < capacity.min_unit
                or (capacity.step_size > 1 and amount % capacity.step_size)
            ):
                mask |= size
            elif amount > room:
                mask |= free
            else:
                continue
            least = capacity.min_unit
            if (
                room < least
                or room < 1
                or (
                    (capacity.step_size > 1 or capacity.max_unit < least)
                    and not largest_amount(capacity, used[position])
                )
            ):
                mask |= some
        return mask

    def _flat_role(self, profile: Profile) -> FlatRole:
        """What a root of this profile fails when it is alone."""
        traits = profile.traits & self.table.relevant_traits
        aggregates = profile.aggregates & self.table.relevant_aggregates
        key = (profile.classes, traits, aggregates)
        flat = self._alike_roles.get(key)
        if flat is None:
            flat = self._new_flat_role(profile)
            self._alike_roles.add(key, flat)
        return flat

    def _new_flat_role(self, profile: Profile) -> FlatRole:
        table, mask = self.table, self.table.root_mask(profile)
        needs: list[tuple[Need, Most | None]] = []
        for request, number in zip(table.requests, table.group_of, strict=True):
            group = table.groups[number]
            role = group.role(request, profile)
            failed = role.own | role.member | (group.collected & ~role.gained)
            mask |= failed
            names = [name for name in request.amounts if name in profile.position]
            needs += [
                (need, None if failed else self.most[number, name])
                for need, name in zip(role.needs, names, strict=True)
            ]
        return mask, tuple(needs)

    def _tree_key(self, tree: Tree) -> tuple[Key, list[ProviderKey]]:
        """The key of a tree, and of each member what it fails in it."""
        table, root = self.table, tree.members[0].kind.profile
        of_members = [self.elements_of_member(tree, slot) for slot in range(len(tree.members))]
        of_sharing = self._elements_of_sharing(tree)
        parts = tuple(
            [
                least(one for elements in of_slots for one in elements)
                for of_slots in zip(*of_members, *of_sharing, strict=True)
            ]
        )
        return (table.root_mask(root), parts), of_members

    def elements_of_member(self, tree: Tree, slot: int) -> ProviderKey:
        """What a member of a tree fails of each provider request."""
        provider, root = tree.members[slot], tree.members[0].kind.profile
        elements, roles = [], self._roles_of(provider.kind.profile)
        for role, request, number in zip(
            roles, self.table.requests, self.table.group_of, strict=True
        ):
            group = self.table.groups[number]
            mask, spanned = role.own | group.tree_mask(tree.root_id), role.member
            # An aggregate of the root spans the tree, but for groups that one provider serves.
            if not request.is_suffixed:
                mask |= group.barred_mask(root.aggregates)
                spanned = group.member_mask(root.aggregates)
            if not mask and not (role.member and spanned):
                self._note_most(number, role, request, provider)
            mask |= amounts_mask(role.needs, provider.kind.capacities, provider.used)
            elements.append(
                least([(mask | role.member, role.gained), (mask | spanned, role.gained)])
            )
        return tuple(elements)

    def _elements_of_sharing(self, tree: Tree) -> list[ProviderKey]:
        """What the sharing providers of other trees that a tree reaches fail in it."""
        return [self.elements_of_sharing(tree, provider) for provider in self.sharing_with(tree)]

    def sharing_with(self, tree: Tree) -> list[Provider]:
        """The sharing providers of other trees that a tree reaches."""
        structure = tree.shape.structure
        if structure.has_sharing:
            return sharing_with(self.snapshot, tree)
        known = self._sharing.get(structure.aggregates)
        if known is None:
            known = sharing_with(self.snapshot, tree)
            self._sharing.add(structure.aggregates, known)
        return known

    def elements_of_sharing(self, tree: Tree, provider: Provider) -> ProviderKey:
        """What a sharing provider of another tree fails when it is used from this one."""
        self.work.spent += 1
        root = tree.members[0].kind.profile
        elements, roles = [], self._roles_of(provider.kind.profile)
        for role, request, number in zip(
            roles, self.table.requests, self.table.group_of, strict=True
        ):
            group = self.table.groups[number]
            mask = role.own | role.member
            mask |= amounts_mask(role.needs, provider.kind.capacities, provider.used)
            if request.is_suffixed:
                mask |= group.tree_mask(provider.root_id)
            else:
                mask |= group.barred_mask(root.aggregates)
                mask |= group.tree.bit if group.tree else 0
            elements.append(((mask, role.gained),))
        return tuple(elements)

    def _roles_of(self, profile: Profile) -> tuple[Role, ...]:
        roles = self._roles.get(profile)
        if roles is None:
            roles = tuple(
                [
                    self.table.groups[number].role(request, profile)
                    for request, number in zip(
                        self.table.requests, self.table.group_of, strict=True
                    )
                ]
            )
            self._roles.add(profile, roles)
        return roles

    def _note_most(
        self, group: int, role: Role, request: ProviderRequest, provider: Provider
    ) -> None:
        for need, name in zip(role.needs, request.amounts, strict=True):
            most, capacity = self.most[group, name], provider.kind.capacities[need.position]
            if capacity.largest > most.largest:
                most.largest, most.capacity = capacity.largest, capacity
            most.free = max(most.free, capacity.room(provider.used[need.position]))
