# SPDX-License-Identifier: Apache-2.0
"""Scenarios: the cloud after some steps (`steps`), in the given order.

Records that no step changes are shared with the given snapshot. New ones are interned in a
separate pool, since another thread may be changing that of the snapshot.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from placement.search.model.provider import Provider, ProviderRow
from placement.search.model.snapshot import Snapshot
from placement.search.solver.work import BudgetSpent
from placement_insight.search.explanation import RequestExplanation
from placement_insight.search.sliced_work import SlicedWork

Item = TypeVar('Item')

# The budget of all changes in steps, the number of steps to replace a provider, and the number of
# its traits and aggregates that add one step.
SCENARIO_BUDGET = 2_000_000
STEPS_OF_CHANGE = 20
NAMES_OF_STEP = 8

# Number of providers that are replaced between two pauses.
PROVIDERS_IN_SLICE = 64

# Copies have ids beyond those of the database.
FIRST_COPY_ID = 1 << 60

# Providers by uuid or name, or with `member_of` the trees whose root is in an aggregate.
Where = Sequence[str] | Mapping[str, str]

# The allocations of a consumer: amounts by class, by provider id.
Held = Mapping[int, Mapping[str, int]]


class StepRefused(Exception):
    """A step cannot be taken; the message is the reason."""


class StepOutcome(NamedTuple):
    """The result of a step, None for numbers that do not apply to it."""

    # Number of changed trees.
    trees: int | None = None
    # Number of released consumers.
    consumers: int | None = None
    # Number of consumers to release that no longer exist.
    gone: int | None = None
    # Number of claimed consumers, and the reason if these are too few.
    claimed: int | None = None
    explanation: RequestExplanation | None = None


class Step(Protocol):
    """A step of a scenario. `take` raises `StepRefused` and `BudgetSpent`."""

    def take(self, scenario: Scenario) -> StepOutcome:
        """Change the scenario."""


class Scenario:
    """The snapshot after the steps so far, beginning at `given`.

    `names` has the names, by uuid, of copies and of providers that steps name or copy.
    `claimed` has the allocations of each claimed consumer, `released` the uuids of released ones.
    """

    def __init__(self, given: Snapshot, names: Mapping[str, str], work: SlicedWork) -> None:
        self.given = given
        self.snapshot = given.with_own_pool()
        self.work = work
        self.names = dict(names)
        self._uuids = {name: uuid for uuid, name in names.items()}
        # The number of copies, by the uuid of the copied root.
        self.copies = Counter[str]()
        self.new_ids = itertools.count(FIRST_COPY_ID)
        self.claimed: list[Held] = []
        self.released: set[str] = set()
        self.outcomes: list[tuple[str, StepOutcome]] = []

    def take(self, steps: Iterable[tuple[str, Step]]) -> None:
        """Take all steps, each given with its verb.

        :raises StepRefused: a step cannot be taken; the message names it
        """
        for number, (verb, step) in enumerate(steps, 1):
            try:
                self.work.check()
                outcome = step.take(self)
            except (StepRefused, BudgetSpent) as error:
                reason = str(error) or 'the budget of one question does not suffice for it'
                raise StepRefused(f'Scenario step {number} ({verb}): {reason}') from error
            self.outcomes.append((verb, outcome))

    def provider(self, uuid_or_name: str) -> Provider:
        """Return the provider with a uuid or name.

        :raises StepRefused: it does not exist
        """
        for uuid in (uuid_or_name, self._uuids.get(uuid_or_name)):
            provider = None if uuid is None else self.snapshot.find_by_uuid(uuid)
            if provider is not None:
                return provider
        raise StepRefused(f'there is no resource provider {uuid_or_name!r}')

    def root(self, uuid_or_name: str) -> Provider:
        """Return the root provider with a uuid or name.

        :raises StepRefused: it does not exist, or is not the root of a tree
        """
        provider = self.provider(uuid_or_name)
        if provider.id != provider.root_id:
            raise StepRefused(f'resource provider {provider.uuid} is not the root of a tree')
        return provider

    def providers(self, where: Where) -> list[Provider]:
        """Return the named providers without duplicates, or the roots in an aggregate.

        Sharing providers in an aggregate are left out, since others use them: they have to be
        named.

        :raises StepRefused: a provider does not exist, or the aggregate has no roots
        """
        if not isinstance(where, Mapping):
            named = map(self.provider, where)
            return list({provider.id: provider for provider in named}.values())
        aggregate, roots = where['member_of'], list[Provider]()
        for block in self.snapshot.blocks.values():
            self.work.spend(len(block.trees))
            for tree in block.trees.values():
                root = tree.members[0]
                if aggregate in root.aggregates and not root.kind.profile.is_sharing:
                    roots.append(root)
        if not roots:
            raise StepRefused(f'no tree has its root in aggregate {aggregate!r}')
        return roots

    def standing_for(self, provider: Provider) -> Sequence[Provider]:
        """Return the members of the tree of a root, or any other provider by itself."""
        is_root = provider.id == provider.root_id
        return self.snapshot.tree(provider.id).members if is_root else (provider,)

    def change(self, changed: Sequence[ProviderRow], removed: Sequence[int] = ()) -> None:
        """Replace and remove providers, which have to be few or one tree.

        :raises BudgetSpent: the budget is spent
        """
        names = sum(len([*row.traits, *row.aggregates]) for row in changed)
        self.work.spend(STEPS_OF_CHANGE * (len(changed) + len(removed)) + names // NAMES_OF_STEP)
        self.snapshot = self.snapshot.with_changes(changed, removed)

    def take_resources(self, taken: Held) -> None:
        """Take amounts from providers, or give back negative ones; skip missing providers."""
        for ids in slices([i for i in taken if self.snapshot.has_provider(i)]):
            self.work.spend(STEPS_OF_CHANGE * len(ids))
            used = {i: self.snapshot.provider(i).used_after(taken[i]) for i in ids}
            self.snapshot = self.snapshot.with_used(used)

    def add_copy(self, rows: Sequence[ProviderRow], names: Mapping[str, str]) -> None:
        """Add a tree, and the names of its providers by uuid.

        :raises BudgetSpent: the budget is spent
        """
        self.change(rows)
        self.names |= names
        self._uuids |= {name: uuid for uuid, name in names.items()}

    @functools.cached_property
    def over_capacity(self) -> list[Provider]:
        """The changed providers that are over capacity after all steps, in the order of trees."""
        over = list[Provider]()
        for number, block in self.snapshot.blocks.items():
            self.work.count(len(block.trees))
            if block is self.given.blocks.get(number):
                continue
            over += [
                provider
                for tree in block.trees.values()
                for provider in tree.members
                if any(used > capacity.ceiling for _, capacity, used in provider.inventories)
                and self._is_changed(provider)
            ]
        return over

    def _is_changed(self, provider: Provider) -> bool:
        """True if a provider has changed; steps make new records of whole trees."""
        before = self.given.find_by_uuid(provider.uuid)
        return before is None or before.as_row() != provider.as_row()


def slices(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Yield slices of `PROVIDERS_IN_SLICE` items."""
    for start in range(0, len(items), PROVIDERS_IN_SLICE):
        yield items[start : start + PROVIDERS_IN_SLICE]
