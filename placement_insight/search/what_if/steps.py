# SPDX-License-Identifier: Apache-2.0
"""The steps of a scenario: change, add and remove providers, release and claim consumers."""

import dataclasses
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from placement.search.model.capacity import Capacity
from placement.search.model.kind import DISABLED_TRAIT
from placement.search.model.provider import Provider, ProviderRow
from placement.search.model.request import CandidateRequest
from placement.search.model.tree import Tree
from placement.search.solver.feasibility import STEPS_TO_PREPARE, first_candidate
from placement_insight.search.explain import explain_within
from placement_insight.search.what_if.scenario import (
    Held,
    Scenario,
    StepOutcome,
    StepRefused,
    Where,
    slices,
)

Names = Mapping[str, Iterable[str]]

MAX_TREES_ADDED = 1_000


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """A change of inventories, traits and aggregates.

    `inventories` has the members to change by class, for all providers with the class in the trees
    of `where`. `traits` and `aggregates` have the names to `add` and to `remove`, for the named
    providers and roots themselves. Usage stays.
    """

    where: Where
    inventories: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    traits: Names = dataclasses.field(default_factory=dict)
    aggregates: Names = dataclasses.field(default_factory=dict)

    def take(self, scenario: Scenario) -> StepOutcome:
        """Change the providers."""
        named = {provider.id: provider for provider in scenario.providers(self.where)}
        changed = dict(named)
        if self.inventories:
            standing = [m for provider in named.values() for m in scenario.standing_for(provider)]
            changed |= {provider.id: provider for provider in standing}
            offered = {name for p in changed.values() for name in p.kind.profile.classes}
            missing = sorted(self.inventories.keys() - offered)
            if missing:
                names = ', '.join(missing)
                raise StepRefused(f'none of these resource providers has inventory of {names}')
        for part in slices(list(changed.values())):
            scenario.change([self._row(provider, provider.id in named) for provider in part])
        return StepOutcome(trees=len({provider.root_id for provider in changed.values()}))

    def _row(self, provider: Provider, is_named: bool) -> ProviderRow:
        row = provider.as_row()
        inventories = dict(row.inventories)
        for name, values in self.inventories.items():
            if name in inventories:
                inventories[name] = inventories[name]._replace(**values)
                if Capacity(*inventories[name][:-1]).reported_capacity < 0:
                    text = f'more {name} would be reserved of {row.uuid} than there is'
                    raise StepRefused(text)
        row = row._replace(inventories=inventories)
        if not is_named:
            return row
        traits = _changed(row.traits, self.traits)
        return row._replace(traits=traits, aggregates=_changed(row.aggregates, self.aggregates))


def _changed(names: Iterable[str], changes: Names) -> set[str]:
    return {*names} - {*changes.get('remove', ())} | {*changes.get('add', ())}


@dataclasses.dataclass(frozen=True, slots=True)
class Add:
    """New trees: copies of the tree of a provider, without usage, and enabled.

    The root of each is in the aggregates `member_of`, with None in those of the model.
    """

    like: str
    count: int
    member_of: Iterable[str] | None = None

    def take(self, scenario: Scenario) -> StepOutcome:
        """Add the trees."""
        model = scenario.snapshot.tree(scenario.provider(self.like).root_id)
        if scenario.copies.total() + self.count > MAX_TREES_ADDED:
            raise StepRefused(f'more than {MAX_TREES_ADDED} trees would be added')
        for _ in range(self.count):
            self._add(scenario, model)
        return StepOutcome(trees=self.count)

    def _add(self, scenario: Scenario, model: Tree) -> None:
        root = model.members[0]
        scenario.copies[root.uuid] += 1
        number = scenario.copies[root.uuid]
        ids: dict[int | None, int] = {
            member.id: next(scenario.new_ids) for member in model.members
        }
        rows, names = list[ProviderRow](), dict[str, str]()
        for member in model.members:
            copy = str(uuid.uuid5(uuid.NAMESPACE_OID, f'{member.uuid}+{number}'))
            names[copy] = f'{scenario.names.get(member.uuid, member.uuid)}+{number}'
            row = member.as_row()._replace(
                id=ids[member.id],
                uuid=copy,
                parent_id=ids.get(member.parent_id),
                root_id=ids[root.id],
            )
            inventories = {n: given._replace(used=0) for n, given in row.inventories.items()}
            traits = frozenset(row.traits) - {DISABLED_TRAIT}
            rows.append(row._replace(inventories=inventories, traits=traits))
        if self.member_of is not None:
            rows[0] = rows[0]._replace(aggregates=self.member_of)
        scenario.add_copy(rows, names)


@dataclasses.dataclass(frozen=True, slots=True)
class Remove:
    """Removal of trees with their allocations; for other providers, of their subtrees."""

    where: Where

    def take(self, scenario: Scenario) -> StepOutcome:
        """Remove the trees."""
        gone: dict[int, set[int]] = defaultdict(set)
        for provider in scenario.providers(self.where):
            tree = scenario.snapshot.tree(provider.root_id)
            ancestry, top = tree.shape.structure.ancestry, tree.position(provider.id)
            gone[tree.root_id].update(
                member.id
                for position, member in enumerate(tree.members)
                if ancestry.is_within(position, top)
            )
        for ids in gone.values():
            scenario.change((), tuple(ids))
        return StepOutcome(trees=len(gone))


@dataclasses.dataclass(frozen=True, slots=True)
class Release:
    """A release of consumers, which then have no allocations.

    `held` has their allocations by uuid, and `asked` is the number of consumers to release.
    `provider` is set if they were chosen by it; with `with_claimed`, consumers that a step claimed
    there are released too.
    """

    held: Mapping[str, Held]
    asked: int
    provider: str | None = None
    with_claimed: bool = False

    def take(self, scenario: Scenario) -> StepOutcome:
        """Release the consumers."""
        has_provider = scenario.snapshot.has_provider
        names = self.held.keys() - scenario.released
        held = [self.held[name] for name in names if any(map(has_provider, self.held[name]))]
        scenario.released |= self.held.keys()
        gone = self.asked - len(held)
        if self.provider is not None:
            provider_id = scenario.provider(self.provider).id
            if self.with_claimed:
                held += [claimed for claimed in scenario.claimed if provider_id in claimed]
                kept = [claimed for claimed in scenario.claimed if provider_id not in claimed]
                scenario.claimed = kept
        freed: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for consumer in held:
            for provider_id, amounts in consumer.items():
                for name, amount in amounts.items():
                    freed[provider_id][name] -= amount
        scenario.take_resources(freed)
        return StepOutcome(consumers=len(held), gone=gone)


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """Claims of a request by `count` consumers, each with its first candidate."""

    request: CandidateRequest
    count: int

    def take(self, scenario: Scenario) -> StepOutcome:
        """Claim as many consumers as there is room for."""
        work = scenario.work
        for claimed in range(self.count):
            work.spend(STEPS_TO_PREPARE * (1 + len(self.request.groups)))
            candidate = first_candidate(scenario.snapshot, self.request, work)
            if candidate is None:
                explanation = explain_within(work, scenario.snapshot, self.request)
                return StepOutcome(claimed=claimed, explanation=explanation)
            taken = {p.id: amounts for p, amounts in candidate.allocations.items()}
            scenario.claimed.append(taken)
            scenario.take_resources(taken)
        return StepOutcome(claimed=self.count)
