# SPDX-License-Identifier: Apache-2.0
"""Counts without claims: quotients of the amounts of providers and of requests.

They are exact where one provider serves the request, and where each provider request has one
provider in reach; elsewhere they are upper bounds.
"""

from __future__ import annotations

import bisect
import itertools
import math
import operator
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from placement.search.model.provider import Provider
from placement.search.model.snapshot import Snapshot
from placement.search.solver.resolved_request import ResolvedRequest
from placement_insight.search.sliced_work import SlicedWork

# The providers that serve each provider request on an empty cloud, by its number.
Servers = Sequence[Collection[Provider]]
# The amounts that one consumer takes from each provider.
Taken = Sequence[tuple[Provider, Mapping[str, int]]]


class Count(NamedTuple):
    """Bounds of the number of consumers that could be claimed with the best choice of candidates.

    Some choice reaches `at_least`, and none exceeds `at_most`.
    """

    at_least: int
    at_most: int

    @classmethod
    def exactly(cls, number: int) -> Count:
        """Return a count with equal bounds."""
        return cls(number, number)

    @property
    def is_exact(self) -> bool:
        """True if both bounds are equal."""
        return self.at_least == self.at_most


def quotients(provider: Provider, amounts: Mapping[str, int]) -> tuple[int, int]:
    """Return how many times a provider has room for these amounts, now and if empty.

    It has to have all classes, and to accept the amounts by `min_unit` and `step_size`.
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
            # Negative while over capacity.
            now = max(of_free, 0)
    return max(now, 0), max(empty, 0)


class Parts:
    """How many consumers each of some providers can serve, in ascending order with sums."""

    def __init__(self, often: Iterable[int]) -> None:
        self._often = sorted(often)
        self._sums = [0, *itertools.accumulate(self._often)]

    def capped(self, most: int) -> int:
        """Return the sum with each number capped at `most`."""
        below = bisect.bisect_left(self._often, most)
        return self._sums[below] + most * (len(self._often) - below)

    @property
    def total(self) -> int:
        """The sum of the numbers."""
        return self._sums[-1]


def _most_apart(wanted: int, *parts: Parts) -> int:
    """Return the number of consumers that can be served by `wanted` different providers each."""
    fits, fits_not = 0, sum(each.total for each in parts) + 1
    while fits_not - fits > 1:
        middle = (fits + fits_not) // 2
        if sum(each.capped(middle) for each in parts) >= wanted * middle:
            fits = middle
        else:
            fits_not = middle
    return fits


class Reach:
    """The sharing providers of other trees that serve each provider request in some trees.

    Compared by identity: trees that reach the same providers share one instance.
    """

    __slots__ = ('every', 'of_request')

    def __init__(self, of_request: Sequence[Sequence[Provider]]) -> None:
        self.of_request = of_request
        self.every = frozenset(itertools.chain.from_iterable(of_request))


class ServerBounds(NamedTuple):
    """The room of some providers for each request, for each class, and for isolated requests.

    The room for a class is in multiples of its divisor. `isolated` is None if isolated requests
    set no bound.
    """

    by_request: Sequence[int]
    by_class: Mapping[str, int]
    isolated: Parts | None


class FreeAmounts:
    """Free amounts of providers, initially or after claims, on the cloud as it is or if empty."""

    def __init__(self, resolved: ResolvedRequest, work: SlicedWork, is_empty: bool) -> None:
        self.is_empty = is_empty
        self._work = work
        self._pooled: dict[Reach, ServerBounds] = {}
        self.totals: Mapping[str, int] = resolved.totals
        self._requests = resolved.provider_requests
        self._exclusive = [request.number for request in self._requests if request.is_exclusive]
        self._divisors = {
            name: math.gcd(*[request.amounts.get(name, 0) for request in self._requests])
            for name in self.totals
        }
        self._taken: dict[Provider, Counter[str]] = defaultdict(Counter)

    def free(self, provider: Provider, name: str) -> int:
        """Return the free amount of a class of a provider before any claim."""
        capacity, used = provider.inventory(name)
        # Negative while over capacity.
        return max(capacity.ceiling if self.is_empty else capacity.ceiling - used, 0)

    def times(self, provider: Provider, amounts: Mapping[str, int]) -> int:
        """Return how many times a provider has room for these amounts before any claim."""
        return quotients(provider, amounts)[self.is_empty]

    def take(self, taken: Taken) -> int:
        """Claim as many consumers of these amounts as there is room for, return their number."""
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
        """Return the snapshot with the claims added to its usage."""
        return snapshot.with_used(
            {
                provider.id: snapshot.provider(provider.id).used_after(amounts)
                for provider, amounts in self._taken.items()
            }
        )

    def most(self, servers: Servers, reach: Reach) -> int:
        """Return an upper bound of the consumers that a tree and its reach can serve."""
        pooled = self.pooled(reach)
        if not all(map(operator.or_, map(bool, servers), map(bool, reach.of_request))):
            return 0
        own = self._bounds_of(servers)
        totals = self.totals.items()
        bounds = [
            own.by_request[number] + pooled.by_request[number]
            for number, request in enumerate(self._requests)
            if request.amounts
        ]
        bounds += [
            (own.by_class[name] + pooled.by_class[name]) * self._divisors[name] // total
            for name, total in totals
        ]
        if own.isolated is not None and pooled.isolated is not None:
            bounds.append(_most_apart(len(self._exclusive), own.isolated, pooled.isolated))
        return min(bounds, default=0)

    def pooled(self, reach: Reach) -> ServerBounds:
        """Return the room of the providers of a reach before any claim."""
        pooled = self._pooled.get(reach)
        if pooled is None:
            pooled = self._pooled[reach] = self._bounds_of(reach.of_request)
        return pooled

    def _bounds_of(self, servers: Servers) -> ServerBounds:
        return ServerBounds(
            [
                sum(self.times(p, request.amounts) for p in self._work.counted([*serving]))
                for request, serving in zip(self._requests, servers, strict=True)
            ],
            {name: self._in_multiples(name, servers) for name in self.totals},
            self._isolated(servers),
        )

    def _in_multiples(self, name: str, servers: Servers) -> int:
        """Sum the free amounts of a class in multiples of the divisor of all requested amounts.

        No consumer can use the remainder that a provider has beyond such a multiple.
        """
        asking = [request.number for request in self._requests if name in request.amounts]
        serving = set[Provider]().union(*[servers[number] for number in asking])
        divisor = self._divisors[name]
        return sum(self.free(p, name) // divisor for p in self._work.counted([*serving]))

    def _isolated(self, servers: Servers) -> Parts | None:
        """Return how many consumers each provider can serve with one of the isolated requests.

        Isolated requests of one consumer need different providers, so a provider counts at most
        once for each consumer. None with fewer than two such requests, or with one for traits
        alone, for which a provider has no bound.
        """
        if len(self._exclusive) < 2:
            return None
        asked: dict[Provider, dict[int, Mapping[str, int]]] = defaultdict(dict)
        for number in self._exclusive:
            request = self._requests[number]
            for provider in servers[number]:
                asked[provider][request.alike] = request.amounts
        if not all(all(of_provider.values()) for of_provider in asked.values()):
            return None
        return Parts(
            self._parts(provider, [*asked[provider].values()])
            for provider in self._work.counted([*asked])
        )

    def _parts(self, provider: Provider, asked: Sequence[Mapping[str, int]]) -> int:
        """Return an upper bound of the consumers with one of these requests on a provider."""
        common = set[str].intersection(*map(set, asked))
        bounds = [
            self.free(provider, name) // min(amounts[name] for amounts in asked) for name in common
        ]
        return min(bounds, default=sum(self.times(provider, amounts) for amounts in asked))
