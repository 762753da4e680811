# SPDX-License-Identifier: Apache-2.0
"""A scenario: the picture of the cloud after some steps, in the order given.

What no step changes is shared with the snapshot that was given. What is made anew is interned by a
pool of its own: another thread may be changing the given one's. `steps` has the steps.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from placement.search.insight.explanation import RequestExplanation
from placement.search.insight.sliced_work import SlicedWork
from placement.search.model.provider import Provider, ProviderRow
from placement.search.model.snapshot import Snapshot
from placement.search.solver.work import BudgetSpent

Item = TypeVar('Item')

# How many places all steps may look at. To make a provider anew takes as long as so many.
SCENARIO_BUDGET = 2_000_000
PLACES_OF_CHANGE = 20

# About how many providers are made anew between two pauses.
PROVIDERS_IN_SLICE = 64

# Copies have ids beyond those of any database.
FIRST_COPY_ID = 1 << 60

# Providers by uuid or name; or as `member_of` an aggregate, for the trees whose root is in it.
Where = Sequence[str] | Mapping[str, str]

# What a consumer holds: amounts by class, by the id of the provider.
Held = Mapping[int, Mapping[str, int]]


class StepRefused(Exception):
    """A step that cannot be taken; the text says why."""


class StepOutcome(NamedTuple):
    """The result of a step: how many trees it changed, consumers it released and did not find
    any more, and consumers it claimed; None where the step is not about them. `explanation` says
    why fewer were claimed than it asked for."""

    trees: int | None = None
    consumers: int | None = None
    gone: int | None = None
    claimed: int | None = None
    explanation: RequestExplanation | None = None


class Step(Protocol):
    """A step of a scenario. `take` raises `StepRefused` and `BudgetSpent`."""

    @property
    def verb(self) -> str:
        """Its name."""

    def take(self, scenario: Scenario) -> StepOutcome:
        """Change the picture."""


class Scenario:
    """The picture that the steps so far have made of `given`.

    `names` are those of providers by uuid that steps name, or copy; those of copies are added.
    `claimed` is what each consumer holds that was claimed, `released` the uuids of those that hold
    nothing any more.
    """

    def __init__(self, given: Snapshot, names: Mapping[str, str], work: SlicedWork) -> None:
        self.given = given
        self.snapshot = given.with_own_pool()
        self.work = work
        self.names = dict(names)
        self._uuids = {name: uuid for uuid, name in names.items()}
        # By the uuid of the root that was copied.
        self.copies = Counter[str]()
        self.new_ids = itertools.count(FIRST_COPY_ID)
        self.claimed: list[Held] = []
        self.released: set[str] = set()
        self.outcomes: list[tuple[str, StepOutcome]] = []

    def take(self, steps: Sequence[Step]) -> None:
        """Take all steps. Raises `StepRefused`, which names the step."""
        for number, step in enumerate(steps, 1):
            try:
                self.work.check()
                outcome = step.take(self)
            except (StepRefused, BudgetSpent) as error:
                reason = str(error) or 'the budget of one question does not suffice for it'
                raise StepRefused(f'Scenario step {number} ({step.verb}): {reason}') from error
            self.outcomes.append((step.verb, outcome))

    def provider(self, uuid_or_name: str) -> Provider:
        """The provider with this uuid or name. Raises `StepRefused`."""
        for uuid in (uuid_or_name, self._uuids.get(uuid_or_name)):
            provider = None if uuid is None else self.snapshot.find_by_uuid(uuid)
            if provider is not None:
                return provider
        raise StepRefused(f'there is no resource provider {uuid_or_name!r}')

    def root(self, uuid_or_name: str) -> Provider:
        """The provider, which is the root of a tree. Raises `StepRefused`."""
        provider = self.provider(uuid_or_name)
        if provider.id != provider.root_id:
            raise StepRefused(f'resource provider {provider.uuid} is not the root of a tree')
        return provider

    def providers(self, where: Where) -> list[Provider]:
        """The named providers, each once, or the roots. Raises `StepRefused`.

        Sharing providers, which others use as well, have to be named.
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
        """The tree of a root, any other provider by itself."""
        is_root = provider.id == provider.root_id
        return self.snapshot.tree(provider.id).members if is_root else (provider,)

    def change(self, changed: Sequence[ProviderRow], removed: Sequence[int] = ()) -> None:
        """Make some providers anew, which are few or one tree. Raises `BudgetSpent`."""
        self.work.spend(PLACES_OF_CHANGE * (len(changed) + len(removed)))
        self.snapshot = self.snapshot.with_changes(changed, removed)

    def take_resources(self, taken: Held) -> None:
        """Take amounts of providers, or give them back; those that are gone give nothing."""
        for ids in slices([i for i in taken if self.snapshot.has_provider(i)]):
            self.work.spend(PLACES_OF_CHANGE * len(ids))
            used = {i: self.snapshot.provider(i).used_after(taken[i]) for i in ids}
            self.snapshot = self.snapshot.with_used(used)

    def add_copy(self, rows: Sequence[ProviderRow], names: Mapping[str, str]) -> None:
        """Add a tree, whose providers have names by uuid. Raises `BudgetSpent`."""
        self.change(rows)
        self.names |= names
        self._uuids |= {name: uuid for uuid, name in names.items()}

    @functools.cached_property
    def over_capacity(self) -> list[Provider]:
        """The providers that a step changed and of which more is used than there is, in order of
        their trees. Ask when all steps are taken."""
        over, before = list[Provider](), self.given
        for number, block in self.snapshot.blocks.items():
            self.work.count(len(block.trees))
            if block is before.blocks.get(number):
                continue
            over += [
                provider
                for tree in block.trees.values()
                for provider in tree.members
                if any(used > capacity.ceiling for _, capacity, used in provider.inventories)
                and provider is not before.find_by_uuid(provider.uuid)
            ]
        return over


def slices(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Some items, as many at a time as providers are made anew between two pauses."""
    for start in range(0, len(items), PROVIDERS_IN_SLICE):
        yield items[start : start + PROVIDERS_IN_SLICE]
