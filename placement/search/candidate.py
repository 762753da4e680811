# SPDX-License-Identifier: Apache-2.0
"""Candidates, and the layouts that alike candidates share.

A thousand alike hosts answer a request in the same way. A `Layout` holds that way once: the
amounts taken from the first provider, the second and so on, and the groups that each serves. A
`Candidate` adds the providers.
"""

from collections.abc import Mapping, Sequence

from placement.search.model.provider import Provider
from placement.search.solver.resolved_request import ProviderRequest


class Layout:
    """One way to divide provider requests among providers, which are numbers here.

    `serving` holds the provider of each provider request. `amounts` holds the amounts taken from
    each provider by class; they are empty for one that serves only groups without resources.
    `allocated` are the providers with amounts. `mappings` holds the suffix of each group with the
    providers that serve it.
    """

    __slots__ = ('allocated', 'amounts', 'mappings', 'serving')

    def __init__(self, requests: Sequence[ProviderRequest], serving: tuple[int, ...]) -> None:
        self.serving = serving
        amounts: list[dict[str, int]] = [{} for _ in range(max(serving) + 1)]
        groups: dict[str, dict[int, None]] = {}
        for request, number in zip(requests, serving, strict=True):
            groups.setdefault(request.group.suffix, {})[number] = None
            taken = amounts[number]
            for name, amount in request.amounts.items():
                taken[name] = taken.get(name, 0) + amount
        self.amounts: tuple[Mapping[str, int], ...] = tuple(amounts)
        self.allocated = tuple([number for number, taken in enumerate(amounts) if taken])
        self.mappings = tuple((suffix, tuple(numbers)) for suffix, numbers in groups.items())


class Candidate:
    """One way to serve a request: a layout and its providers, in the order of their numbers."""

    __slots__ = ('layout', 'providers')

    def __init__(self, layout: Layout, providers: tuple[Provider, ...]) -> None:
        self.layout = layout
        self.providers = providers

    @property
    def allocations(self) -> dict[Provider, Mapping[str, int]]:
        """The amounts by class of each provider from which something is taken."""
        return {
            self.providers[number]: self.layout.amounts[number] for number in self.layout.allocated
        }

    @property
    def mappings(self) -> dict[str, list[Provider]]:
        """The providers that serve each group, keyed by suffix."""
        return {
            suffix: [self.providers[number] for number in numbers]
            for suffix, numbers in self.layout.mappings
        }

    @property
    def is_all_shared(self) -> bool:
        """True if it consists of sharing providers alone, so that it may have several anchors."""
        # Computed for every candidate; the first provider nearly always decides.
        if not self.providers[0].kind.profile.is_sharing:
            return False
        return all(provider.kind.profile.is_sharing for provider in self.providers)

    @property
    def identity(self) -> tuple[int, ...]:
        """The providers that serve each provider request.

        Candidates with the same identity are the same, whatever tree they were found under.
        """
        return tuple([self.providers[number].id for number in self.layout.serving])

    def __repr__(self) -> str:
        return f'<Candidate {self.mappings}>'
