# SPDX-License-Identifier: Apache-2.0
"""The steps of a scenario: providers that change, come and go, and consumers that do."""

from __future__ import annotations

import dataclasses
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from placement.search.insight.explain import explain_within
from placement.search.insight.feasibility import PLACES_TO_PREPARE, first_candidate
from placement.search.model.capacity import Capacity
from placement.search.model.kind import DISABLED_TRAIT
from placement.search.model.provider import Provider, ProviderRow
from placement.search.model.request import CandidateRequest
from placement.search.model.tree import Tree
from placement.search.what_if.scenario import (
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
    """Other inventories of all providers that have the class; other traits and aggregates of the
    named providers and roots themselves.

    `inventories` has the members that change, by class, `traits` and `aggregates` the names to
    `add` and to `remove`. What is used stays.
    """

    verb: ClassVar[str] = 'change'

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
    """Copies of the tree of a provider, of which nothing is used, and which are not disabled.

    The root of each is in the aggregates `member_of`, or in those of the model where it is None.
    """

    verb: ClassVar[str] = 'add'

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
    """Trees that go, with what is used there; of other providers they and what is beneath them."""

    verb: ClassVar[str] = 'remove'

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
    """Consumers that hold nothing any more.

    `held` is what they hold, by uuid, `asked` how many were to be released. `provider` is the one
    they were chosen by, if any; those that a step claimed of it go too where it is `with_claimed`.
    """

    verb: ClassVar[str] = 'release'

    held: Mapping[str, Held]
    asked: int
    provider: str | None = None
    with_claimed: bool = False

    def take(self, scenario: Scenario) -> StepOutcome:
        """Release the consumers."""
        held = [self.held[name] for name in self.held.keys() - scenario.released]
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
    """Consumers of a request that are claimed one after another, each of the first candidate."""

    verb: ClassVar[str] = 'claim'

    request: CandidateRequest
    count: int

    def take(self, scenario: Scenario) -> StepOutcome:
        """Claim as many as there is room for."""
        work = scenario.work
        for claimed in range(self.count):
            work.spend(PLACES_TO_PREPARE * (1 + len(self.request.groups)))
            candidate = first_candidate(scenario.snapshot, self.request, work)
            if candidate is None:
                explanation = explain_within(work, scenario.snapshot, self.request)
                return StepOutcome(claimed=claimed, explanation=explanation)
            taken = {p.id: amounts for p, amounts in candidate.allocations.items()}
            scenario.claimed.append(taken)
            scenario.take_resources(taken)
        return StepOutcome(claimed=self.count)
