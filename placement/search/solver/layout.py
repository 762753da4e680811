# SPDX-License-Identifier: Apache-2.0
"""What is found: candidates, and the layouts that alike candidates share.

A thousand alike hosts answer a request in the same way.  A `Layout` says that way once: what is
taken from the first provider, from the second one, and which groups they serve.  A `Candidate`
adds who they are.  So whoever shows candidates can prepare a text for each layout and only fill in
names.
"""

from collections.abc import Mapping, Sequence

from placement.search.model.provider import Provider
from placement.search.solver.filters import Demand


class Layout:
    """One way to divide the demands of a request among providers, whoever they are.

    `serving` holds, for each demand, the number of the provider that serves it.  `amounts` holds,
    for each provider, what is taken from it by class: nothing from one that only serves groups
    without resources.  `givers` are the numbers of the others.  `mappings` holds the suffix of
    each group with the numbers of the providers that serve it.  `rendered` is a blank for whoever
    shows candidates.
    """

    __slots__ = ('amounts', 'givers', 'mappings', 'rendered', 'serving')

    def __init__(self, demands: Sequence[Demand], serving: tuple[int, ...]) -> None:
        self.serving = serving
        amounts: list[dict[str, int]] = [{} for _ in range(max(serving) + 1)]
        groups: dict[str, dict[int, None]] = {}
        for demand, number in zip(demands, serving, strict=True):
            groups.setdefault(demand.group.suffix, {})[number] = None
            taken = amounts[number]
            for name, amount in demand.amounts.items():
                taken[name] = taken.get(name, 0) + amount
        self.amounts: tuple[Mapping[str, int], ...] = tuple(amounts)
        self.givers = tuple([number for number, taken in enumerate(amounts) if taken])
        self.mappings = tuple((suffix, tuple(numbers)) for suffix, numbers in groups.items())
        self.rendered: object = None


class Candidate:
    """One way to serve a request: a layout and its providers, in the order of their numbers."""

    __slots__ = ('layout', 'providers')

    def __init__(self, layout: Layout, providers: tuple[Provider, ...]) -> None:
        self.layout = layout
        self.providers = providers

    @property
    def allocations(self) -> dict[Provider, Mapping[str, int]]:
        """What is taken from each provider that gives something, by class."""
        return {self.providers[giver]: self.layout.amounts[giver] for giver in self.layout.givers}

    @property
    def mappings(self) -> dict[str, list[Provider]]:
        """The providers that serve each group, keyed by suffix."""
        return {
            suffix: [self.providers[number] for number in numbers]
            for suffix, numbers in self.layout.mappings
        }

    @property
    def is_all_shared(self) -> bool:
        """Whether it is made of sharing providers alone, so that it may have several anchors."""
        # Asked of every candidate found; nearly all of them have their answer from the first.
        if not self.providers[0].kind.is_sharing:
            return False
        return all(provider.kind.is_sharing for provider in self.providers)

    @property
    def identity(self) -> tuple[int, ...]:
        """Who serves each demand: candidates with the same identity are the same, whatever tree
        they were found under."""
        return tuple([self.providers[number].id for number in self.layout.serving])

    def __repr__(self) -> str:
        return f'<Candidate {self.mappings}>'
