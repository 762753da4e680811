# SPDX-License-Identifier: Apache-2.0
"""One look at every tree, or at as many as the budget allows: who fails what, counted.

Alike providers are looked at once. Where not all trees can be looked at, those that are lie evenly
among all, so that they are a fair sample.
"""

import contextlib
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from placement.search.insight.amounts import Need, amounts_mask, largest_amount
from placement.search.insight.conditions import ConditionTable, Role
from placement.search.insight.tree_masks import Elements, Key, Outcome, least
from placement.search.model.block import Block
from placement.search.model.kind import Profile
from placement.search.model.provider import Provider
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree
from placement.search.solver.bounded_cache import BoundedCache
from placement.search.solver.provider_request import ProviderRequest
from placement.search.solver.resolved_request import ResolvedRequest
from placement.search.solver.slots import sharing_with
from placement.search.solver.work import BudgetSpent, Work

# Of how many blocks one is looked at in a round.
STRIDE = 16

# For how many states of trees the outcome is remembered.
MAX_STATES = 10_000

# The most that anybody has where nobody meets the other conditions.
NOBODY = -sys.maxsize

# By provider request what a provider fails as a member of its own tree.
ProviderKey = tuple[Elements, ...]
# What a provider of some profile fails when it is a tree of its own, and what of it has to be
# asked about amounts, each with the place where the most is noted.
FlatRole = tuple[int, tuple[tuple[Need, list[int] | None], ...]]


class Survey:
    """What was found out about the trees of a snapshot.

    `outcomes` hold all trees that were examined, `providers` count what providers fail in trees
    of more than one and sharing ones, `most` is, by group and class, the most that one provider
    that meets all conditions but amounts offers to one consumer when it is empty, and has free;
    `NOBODY` where there is none.
    No more than `max_states` trees are looked at that differ in more than who they are, that of
    `first_root` before all others.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        resolved: ResolvedRequest,
        work: Work,
        max_states: int | None = None,
        first_root: int | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.table = table = ConditionTable(resolved)
        self.work = work
        self.of = sum(len(block.trees) for block in snapshot.blocks.values())
        self.examined = 0
        self._max_states = max_states
        self.most: dict[tuple[int, str], list[int]] = {
            (number, name): [NOBODY, NOBODY]
            for number, group in enumerate(table.groups)
            for name in group.amounts
        }
        self.has_large_trees = snapshot.has_sharing
        self._trees: dict[Key, list[Tree]] = {}
        self._roles: BoundedCache[Profile, tuple[Role, ...]] = BoundedCache(MAX_STATES)
        self._flat_roles: BoundedCache[Profile, FlatRole] = BoundedCache(MAX_STATES)
        self._alike_roles: dict[object, FlatRole] = {}
        self._named_groups = [group for group in table.groups if group.tree is not None]
        self._sharing: BoundedCache[frozenset[str], list[Provider]] = BoundedCache(MAX_STATES)
        self._states: BoundedCache[object, tuple[Key, list[ProviderKey]]] = BoundedCache(
            MAX_STATES
        )
        self._named_roots = resolved.named_roots
        self.providers: Counter[ProviderKey] = Counter()
        with contextlib.suppress(BudgetSpent):
            self._examine(spread(list(snapshot.blocks.values())), first_root)
        self.outcomes = [Outcome(table, key, trees) for key, trees in self._trees.items()]
        if self.has_large_trees:
            for outcome, key in zip(self.outcomes, self._trees, strict=True):
                if isinstance(key, int):
                    self.providers[outcome.parts] += len(outcome.trees)

    def _examine(self, blocks: Iterable[Block], first_root: int | None) -> None:
        work, most, states = self.work, self._max_states, set[object]()
        if first_root is not None:
            self._add(self.snapshot.tree(first_root))
        for block in blocks:
            for tree in block.trees.values():
                if most is not None:
                    states.add((tree.shape, tree.usage))
                    if len(states) > most:
                        return
                if tree.root_id != first_root:
                    self._add(tree)
            work.check()

    def _add(self, tree: Tree) -> None:
        key = self.key(tree)
        trees = self._trees.get(key)
        if trees is None:
            trees = self._trees[key] = []
        trees.append(tree)
        self.examined += 1

    def outcome(self, tree: Tree) -> Outcome:
        """The outcome of a tree that was examined."""
        number = list(self._trees).index(self.key(tree))
        return self.outcomes[number]

    def key(self, tree: Tree) -> Key:
        """What stands in the way of a tree."""
        structure = tree.shape.structure
        self.work.spent += len(tree.members) * len(self.table.requests)
        is_flat = len(tree.members) == 1 and not (
            self.snapshot.has_sharing and self.snapshot.has_sharing_in(structure.aggregates)
        )
        if is_flat:
            return self._flat_key(tree)
        self.has_large_trees = True
        if structure.has_sharing or tree.root_id in self._named_roots:
            key, members = self._tree_key(tree)
        else:
            state = (tree.shape, tree.usage)
            known = self._states.get(state)
            if known is None:
                known = self._tree_key(tree)
                self._states.add(state, known)
            key, members = known
        self.providers.update(members)
        return key

    def _flat_key(self, tree: Tree) -> int:
        """All bits that a tree of one provider fails."""
        provider = tree.members[0]
        kind, used = provider.kind, provider.used
        flat = self._flat_roles.get(kind.profile)
        if flat is None:
            flat = self._flat_role(kind.profile)
            self._flat_roles.add(kind.profile, flat)
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
                if largest > most[0]:
                    most[0] = largest
                if room > most[1]:
                    most[1] = min(room, capacity.max_unit)
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
            if room < 1 or not largest_amount(capacity, used[position]):
                mask |= some
        return mask

    def _flat_role(self, profile: Profile) -> FlatRole:
        """What a root of this profile fails when it is alone."""
        traits = profile.traits & self.table.relevant_traits
        aggregates = profile.aggregates & self.table.relevant_aggregates
        key = (profile.classes, traits, aggregates)
        flat = self._alike_roles.get(key)
        if flat is None:
            flat = self._alike_roles[key] = self._new_flat_role(profile)
        return flat

    def _new_flat_role(self, profile: Profile) -> FlatRole:
        table, mask = self.table, self.table.root_mask(profile)
        needs: list[tuple[Need, list[int] | None]] = []
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
            most[0] = max(most[0], capacity.largest)
            most[1] = max(most[1], capacity.room(provider.used[need.position]))


def spread(blocks: Sequence[Block]) -> Iterator[Block]:
    """Every block, in rounds that each go through the whole cloud."""
    for start in range(STRIDE):
        yield from blocks[start::STRIDE]
