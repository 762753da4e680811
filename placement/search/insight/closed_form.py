# SPDX-License-Identifier: Apache-2.0
"""Counts that need no claim: quotients of what there is and what is asked for.

They are exact where one provider serves the request, and where each provider request has one
provider in reach; elsewhere they are upper bounds.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from placement.search.model.provider import Provider
from placement.search.model.snapshot import Snapshot
from placement.search.solver.resolved_request import ResolvedRequest

# By the number of the provider request, who serves it if nothing is used.
Servers = Sequence[Collection[Provider]]
# What one consumer takes of each provider.
Taken = Sequence[tuple[Provider, Mapping[str, int]]]


@dataclasses.dataclass(frozen=True, slots=True)
class Count:
    """A number of consumers that could be claimed one after another, if each takes the best
    candidate for those after it.

    Some choice of candidates reaches `at_least`, none more than `at_most`.
    """

    at_least: int
    at_most: int

    @classmethod
    def exactly(cls, number: int) -> Count:
        """The count of which both bounds are the same."""
        return cls(number, number)

    @property
    def is_exact(self) -> bool:
        """True where both bounds are the same."""
        return self.at_least == self.at_most


def quotients(provider: Provider, amounts: Mapping[str, int]) -> tuple[int, int]:
    """The consumers of these amounts that a provider has room for, now and if nothing is used.

    It has all of the classes, and takes such amounts but for the largest.
    """
    kind, used = provider.kind, provider.used
    position, now, empty = kind.profile.position, -1, -1
    for name, amount in amounts.items():
        number = position[name]
        capacity = kind.capacities[number]
        if amount > capacity.largest:
            return 0, 0
        of_all, of_free = capacity.ceiling // amount, (capacity.ceiling - used[number]) // amount
        if of_all < empty or empty < 0:
            empty = of_all
        if of_free < now or now < 0:
            # More may be used than there is.
            now = max(of_free, 0)
    return max(now, 0), max(empty, 0)


class Room:
    """The amounts that providers have left, now or if nothing were used, while consumers take of
    them."""

    def __init__(self, resolved: ResolvedRequest, is_empty: bool) -> None:
        self.is_empty = is_empty
        self.totals: Mapping[str, int] = resolved.totals
        self._requests = resolved.provider_requests
        self._exclusive = [request.number for request in self._requests if request.is_exclusive]
        self._taken: dict[Provider, Counter[str]] = defaultdict(Counter)

    def free(self, provider: Provider, name: str) -> int:
        """The amount of a class that all consumers together may take of a provider at first."""
        capacity, used = provider.inventory(name)
        # More may be used than there is.
        return max(capacity.ceiling if self.is_empty else capacity.ceiling - used, 0)

    def times(self, provider: Provider, amounts: Mapping[str, int]) -> int:
        """The consumers of these amounts that a provider has room for at first."""
        return quotients(provider, amounts)[self.is_empty]

    def take(self, taken: Taken) -> int:
        """Claim as many consumers as there is room for now, which take so much each."""
        often = min(
            (self.free(provider, name) - self._taken[provider][name]) // amount
            if amount <= provider.inventory(name)[0].largest
            else 0
            for provider, amounts in taken
            for name, amount in amounts.items()
        )
        for provider, amounts in taken:
            for name, amount in amounts.items():
                self._taken[provider][name] += often * amount
        return often

    def left_of(self, snapshot: Snapshot) -> Snapshot:
        """A snapshot in which that is used which consumers have taken."""
        return snapshot.with_used(
            {
                provider.id: snapshot.provider(provider.id).used_after(amounts)
                for provider, amounts in self._taken.items()
            }
        )

    def most(self, servers: Servers) -> int:
        """A number of consumers beyond which those who serve the requests have no room."""
        if not all(servers):
            return 0
        bounds = itertools.chain(
            self._bounds_by_request(servers),
            self._bounds_by_class(servers),
            self._bounds_by_isolation(servers),
        )
        return min(bounds, default=0)

    def _bounds_by_request(self, servers: Servers) -> Iterator[int]:
        for request, serving in zip(self._requests, servers, strict=True):
            if request.amounts:
                yield sum(self.times(provider, request.amounts) for provider in serving)

    def _bounds_by_class(self, servers: Servers) -> Iterator[int]:
        """Of a provider no consumer can use what is no multiple of the amounts' divisor."""
        for name, total in self.totals.items():
            asking = [request for request in self._requests if name in request.amounts]
            divisor = math.gcd(*[request.amounts[name] for request in asking])
            serving = set().union(*[servers[request.number] for request in asking])
            free = sum(self.free(provider, name) // divisor for provider in serving)
            yield free * divisor // total

    def _bounds_by_isolation(self, servers: Servers) -> Iterator[int]:
        """Isolated requests of one consumer take as many providers, so that each provider takes
        part in no more consumers than there are."""
        if len(self._exclusive) < 2:
            return
        asked: dict[Provider, dict[int, Mapping[str, int]]] = defaultdict(dict)
        for number in self._exclusive:
            for provider in servers[number]:
                asked[provider][self._requests[number].alike] = self._requests[number].amounts
        if not all(all(of_provider.values()) for of_provider in asked.values()):
            # One that is asked for traits alone takes any number of consumers.
            return
        rooms = [self._parts(provider, [*asked[provider].values()]) for provider in asked]
        fits, fits_not = 0, sum(rooms) + 1
        while fits_not - fits > 1:
            middle = (fits + fits_not) // 2
            if sum(min(often, middle) for often in rooms) >= len(self._exclusive) * middle:
                fits = middle
            else:
                fits_not = middle
        yield fits

    def _parts(self, provider: Provider, asked: Sequence[Mapping[str, int]]) -> int:
        """A number of consumers beyond which a provider has no room to serve any of these."""
        common = set[str].intersection(*map(set, asked))
        bounds = [
            self.free(provider, name) // min(amounts[name] for amounts in asked) for name in common
        ]
        return min(bounds, default=sum(self.times(provider, amounts) for amounts in asked))
