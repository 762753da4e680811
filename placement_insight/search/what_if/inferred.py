# SPDX-License-Identifier: Apache-2.0
"""Needs of consumers that lose their trees, inferred from their allocations.

The amounts demand less than the original request, and a tree that is alike demands more, so each
consumer has two needs. Equal needs are one object, of which a cloud has some hundred.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Set
from typing import NamedTuple

from placement.search.model.kind import DISABLED_TRAIT, Profile
from placement.search.model.provider import Provider
from placement.search.model.request import CandidateRequest, RequestGroup
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree
from placement.search.solver.role import RequestBits
from placement.search.solver.work import BoundedCache
from placement_insight.search.what_if.scenario import Held

# A group of an inferred request: its amounts by class and its traits, both sorted.
Part = tuple[tuple[tuple[str, int], ...], tuple[str, ...]]
NOTHING: Part = ((), ())

# Maximum number of needs in memory.
MAX_NEEDS = 10_000


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Need:
    """A request, with further conditions on the tree that serves it. Compared by identity."""

    request: CandidateRequest
    #: For each of these sets of aggregates, the tree has to reach a pool in them.
    reaches: frozenset[frozenset[str]] = frozenset()
    #: The root has to be in all of these aggregates.
    within: frozenset[str] = frozenset()
    #: The groups of an inferred request, the unsuffixed one first; None if the request is known.
    parts: tuple[Part, ...] | None = None
    #: A weaker need: every tree that can serve this need can serve that one.
    weaker: Need | None = None

    def admits(self, tree: Tree) -> bool:
        """True if a tree meets the conditions in addition to the request."""
        return self.within <= tree.members[0].aggregates and all(
            not pool.isdisjoint(tree.shape.structure.aggregates) for pool in self.reaches
        )

    @property
    def is_whole(self) -> bool:
        """True if it replaces all allocations of its consumer."""
        return self.parts is None and not self.reaches


class Inferred(NamedTuple):
    """The needs of a consumer: for its amounts, and for an alike tree.

    None for a consumer with allocations on a lost pool, whose data is gone.
    """

    by_amounts: Need | None
    alike: Need | None


class Inference:
    """Infers needs, and interns equal ones."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._needs: BoundedCache[object, Need] = BoundedCache(MAX_NEEDS)
        self._inferred: BoundedCache[object, Inferred] = BoundedCache(MAX_NEEDS)
        self._without_pools: BoundedCache[object, Need | None] = BoundedCache(MAX_NEEDS)

    def of(self, held: Held, lost: Set[int], within: frozenset[str] = frozenset()) -> Inferred:
        """Return the needs of a consumer after the loss of the trees with these roots.

        Its amounts of lost roots form one group, and those of each other lost provider another
        one. Allocations on other trees stay. An alike tree has the traits of the lost providers,
        and is in those aggregates of `within` that their roots are in.
        """
        snapshot = self._snapshot
        key = [
            (
                provider.kind.profile,
                provider.root_id in lost,
                provider.id == provider.root_id or snapshot.provider(provider.root_id).aggregates,
                *amounts.items(),
            )
            for provider, amounts in self._providers(held)
        ]
        state = (within, *key)
        known = self._inferred.get(state)
        if known is None:
            known = self._new(held, lost, within)
            self._inferred.add(state, known)
        return known

    def homes(self, held: Held) -> frozenset[int]:
        """Return the root ids of the trees with allocations of a consumer, except pools."""
        providers = [provider for provider, _ in self._providers(held)]
        return frozenset([p.root_id for p in providers if not p.kind.profile.is_sharing])

    def _providers(self, held: Held) -> Iterable[tuple[Provider, Mapping[str, int]]]:
        """Return the providers of allocations with the amounts, except removed ones."""
        snapshot = self._snapshot
        return (
            (snapshot.provider(provider_id), amounts)
            for provider_id, amounts in held.items()
            if snapshot.has_provider(provider_id)
        )

    def _new(self, held: Held, lost: Set[int], within: frozenset[str]) -> Inferred:
        amounts_of_roots, traits = Counter[str](), set[str]()
        others, reaches = list[Part](), set[frozenset[str]]()
        for provider, amounts in self._providers(held):
            if provider.root_id not in lost:
                if provider.kind.profile.is_sharing:
                    reaches.add(provider.aggregates)
                continue
            if provider.kind.profile.is_sharing:
                return Inferred(None, None)
            within &= self._snapshot.provider(provider.root_id).aggregates
            if provider.id == provider.root_id:
                amounts_of_roots.update(amounts)
                traits |= provider.traits
            else:
                others.append(_part(amounts, provider.traits))
        parts = (_part(amounts_of_roots, traits), *sorted(others, reverse=True))
        plain = tuple([(amounts, ()) for amounts, _ in parts])
        by_amounts = self._need(plain, frozenset(reaches))
        alike = self._need(parts, frozenset(reaches), within, weaker=by_amounts)
        return Inferred(by_amounts, alike)

    def without_pools(self, need: Need, held: Held, lost: Set[int]) -> Need | None:
        """Return a known need without the amounts that its consumer keeps on pools.

        Its tree then has to reach these pools. None if the consumer keeps nothing, or keeps
        allocations on other trees; if an amount is not that of the unsuffixed group alone; and if
        a pool cannot serve the group.
        """
        kept = [item for item in self._providers(held) if item[0].root_id not in lost]
        key = (need, *[(provider.kind.profile, *amounts.items()) for provider, amounts in kept])
        if key not in self._without_pools:
            request: CandidateRequest | None = need.request if kept else None
            for provider, amounts in kept:
                for name, amount in amounts.items():
                    if request is not None:
                        request = _without(request, name, amount, provider.kind.profile)
            reaches = frozenset([provider.aggregates for provider, _ in kept])
            weaker = None if request is None else Need(request, reaches)
            self._without_pools.add(key, weaker)
        return self._without_pools[key]

    def _need(
        self,
        parts: tuple[Part, ...],
        reaches: frozenset[frozenset[str]] = frozenset(),
        within: frozenset[str] = frozenset(),
        weaker: Need | None = None,
    ) -> Need:
        """Return the interned need of these groups."""
        key = (parts, reaches, within)
        need = self._needs.get(key)
        if need is None:
            need = Need(_request(parts), reaches, within, parts, weaker)
            self._needs.add(key, need)
        return need

    def most(self, needs: Collection[Need]) -> Need | None:
        """Return a need at least as large as each of these; None if some are not inferred.

        Each of its groups has the largest amounts, and all traits, of that group in the needs.
        """
        amounts, traits = list[dict[str, int]](), list[set[str]]()
        for need in needs:
            if need.parts is None:
                return None
            for number, (of_part, names) in enumerate(need.parts):
                if number == len(amounts):
                    amounts.append({})
                    traits.append(set())
                traits[number].update(names)
                for name, amount in of_part:
                    amounts[number][name] = max(amount, amounts[number].get(name, 0))
        return self._need(
            tuple(map(_part, amounts, traits)),
            frozenset().union(*[need.reaches for need in needs]),
            frozenset().union(*[need.within for need in needs]),
            # Any would do as the weaker need; a large one leaves fewer trees.
            max(needs, key=lambda need: (sum(need.request.totals.values()), need.parts)),
        )


def _without(
    request: CandidateRequest, name: str, amount: int, pool: Profile
) -> CandidateRequest | None:
    """Return the request without an amount of the unsuffixed group that a pool serves.

    None if the pool cannot serve it, if another group has the same amount, or if the group would
    be left without resources.
    """
    asking = [group for group in request.groups if group.resources.get(name) == amount]
    group = asking[0] if len(asking) == 1 else None
    if group is None or group.is_suffixed or len(group.resources) == 1 or group.in_tree:
        return None
    if not pool.is_sharing or request.single_provider_per_tree or not _may_serve(request, pool):
        return None
    left = {n: a for n, a in group.resources.items() if n != name}
    groups = [
        dataclasses.replace(group, resources=left) if each is group else each
        for each in request.groups
    ]
    return dataclasses.replace(request, groups=tuple(groups))


def _may_serve(request: CandidateRequest, pool: Profile) -> bool:
    """True if a pool meets the conditions of the unsuffixed group on each provider."""
    bits = RequestBits(request)
    unsuffixed = bits.groups['']
    return not bits.role(pool).failed & (unsuffixed.own | unsuffixed.wanted)


def _part(amounts: Mapping[str, int], traits: Iterable[str]) -> Part:
    return tuple(sorted(amounts.items())), tuple(sorted(set(traits) - {DISABLED_TRAIT}))


@functools.lru_cache(maxsize=10_000)
def _one_of(name: str) -> frozenset[str]:
    """Return the set of one name, cached: all needs share a few hundred."""
    return frozenset([name])


def _request(parts: Iterable[Part]) -> CandidateRequest:
    """Return the request of these groups in one tree, whose host must not be disabled."""
    groups = [
        RequestGroup(
            f'_{number}' if number else '',
            dict(amounts),
            tuple(map(_one_of, traits)),
        )
        for number, (amounts, traits) in enumerate(parts)
        if amounts
    ]
    return CandidateRequest(tuple(groups), root_forbidden=frozenset([DISABLED_TRAIT]))
