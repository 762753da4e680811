# SPDX-License-Identifier: Apache-2.0
"""Needs of consumers that lose their tree, inferred from what they hold.

Amounts tell less than was asked for, and being on a tree that is alike asks for more: so there are
two needs of each consumer. A cloud has some hundred distinct ones, and each is one object.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Set
from typing import NamedTuple

from placement.search.model.kind import DISABLED_TRAIT
from placement.search.model.provider import Provider
from placement.search.model.request import CandidateRequest, RequestGroup
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree
from placement.search.what_if.scenario import Held

# A group of an inferred request: amounts by class and traits, both in order.
Part = tuple[tuple[tuple[str, int], ...], tuple[str, ...]]
NOTHING: Part = ((), ())


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Need:
    """A request, and what else is asked of the tree that serves it.

    It has to reach a pool with each of the sets of aggregates in `reaches`, and its root has to be
    in all aggregates `within`. `parts` are the groups of an inferred request, that without suffix
    first; None where the caller said what was asked for. No tree can serve it that cannot serve
    the need `less`. Compared by identity.
    """

    request: CandidateRequest
    reaches: frozenset[frozenset[str]] = frozenset()
    within: frozenset[str] = frozenset()
    parts: tuple[Part, ...] | None = None
    less: Need | None = None

    def admits(self, tree: Tree) -> bool:
        """Tell if a tree may serve it, whatever is asked of its providers."""
        return self.within <= tree.members[0].aggregates and all(
            not pool.isdisjoint(tree.shape.structure.aggregates) for pool in self.reaches
        )

    @property
    def is_whole(self) -> bool:
        """Tell if it takes the place of all that its consumer holds."""
        return self.parts is None and not self.reaches

    @property
    def totals(self) -> dict[str, int]:
        """All that is asked for, by class."""
        totals = Counter[str]()
        for group in self.request.groups:
            totals.update(group.resources)
        return dict(totals)


class Inferred(NamedTuple):
    """The needs of a consumer: by the amounts it holds, and to be on a tree alike.

    None for one that holds of a pool that is lost, so that its data is gone.
    """

    by_amounts: Need | None
    alike: Need | None
    has_other_trees: bool


class Inference:
    """Infers needs, and makes equal ones one object."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._needs: dict[object, Need] = {}
        self._inferred: dict[object, Inferred] = {}
        self._less_held: dict[object, Need | None] = {}

    def of(self, held: Held, lost: Set[int], within: frozenset[str] = frozenset()) -> Inferred:
        """The needs of a consumer when the trees with these roots are lost.

        What it holds of roots can be served as a whole, what it holds of each other provider by
        one provider; what it holds of other trees stays held. An alike tree has the traits of
        these providers, and is in those of the aggregates `within` that their roots are in.
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
        has_other_trees = len(self.homes(held)) > 1
        known = self._inferred.get((within, has_other_trees, *key))
        if known is None:
            known = self._new(held, lost, within, has_other_trees)
            self._inferred[within, has_other_trees, *key] = known
        return known

    def homes(self, held: Held) -> frozenset[int]:
        """The ids of the roots of the trees that a consumer holds of, but of pools."""
        providers = [provider for provider, _ in self._providers(held)]
        return frozenset([p.root_id for p in providers if not p.kind.profile.is_sharing])

    def _providers(self, held: Held) -> Iterable[tuple[Provider, Mapping[str, int]]]:
        """Those it holds of; what a scenario removed is gone."""
        snapshot = self._snapshot
        return (
            (snapshot.provider(provider_id), amounts)
            for provider_id, amounts in held.items()
            if snapshot.has_provider(provider_id)
        )

    def _new(
        self, held: Held, lost: Set[int], within: frozenset[str], has_other_trees: bool
    ) -> Inferred:
        amounts_of_roots, traits = Counter[str](), set[str]()
        others, reaches = list[Part](), set[frozenset[str]]()
        for provider, amounts in self._providers(held):
            if provider.root_id not in lost:
                if provider.kind.profile.is_sharing:
                    reaches.add(provider.aggregates)
                continue
            if provider.kind.profile.is_sharing:
                return Inferred(None, None, has_other_trees)
            within &= self._snapshot.provider(provider.root_id).aggregates
            if provider.id == provider.root_id:
                amounts_of_roots.update(amounts)
                traits |= provider.traits
            else:
                others.append(_part(amounts, provider.traits))
        parts = (_part(amounts_of_roots, traits), *sorted(others, reverse=True))
        plain = tuple([(amounts, ()) for amounts, _ in parts])
        by_amounts = self._need(plain, frozenset(reaches))
        alike = self._need(parts, frozenset(reaches), within, less=by_amounts)
        return Inferred(by_amounts, alike, has_other_trees)

    def less_held(self, need: Need, held: Held, lost: Set[int]) -> Need | None:
        """A need without what its consumer goes on holding of pools, which it has to reach; None
        where not exactly one group asks for each such amount, or there are none."""
        pools = [
            (provider.aggregates, tuple(sorted(amounts.items())))
            for provider, amounts in self._providers(held)
            if provider.kind.profile.is_sharing and provider.root_id not in lost
        ]
        key = (need, *pools)
        if key not in self._less_held:
            request: CandidateRequest | None = need.request if pools else None
            for name, amount in [item for _, amounts in pools for item in amounts]:
                request = None if request is None else _without(request, name, amount)
            reaches = frozenset([aggregates for aggregates, _ in pools])
            self._less_held[key] = None if request is None else Need(request, reaches)
        return self._less_held[key]

    def _need(
        self,
        parts: tuple[Part, ...],
        reaches: frozenset[frozenset[str]] = frozenset(),
        within: frozenset[str] = frozenset(),
        less: Need | None = None,
    ) -> Need:
        """The one need of these groups."""
        key = (parts, reaches, within)
        need = self._needs.get(key)
        if need is None:
            need = self._needs[key] = Need(_request(parts), reaches, within, parts, less)
        return need

    def most(self, needs: Collection[Need]) -> Need | None:
        """A need that is no smaller than any of these; None where some are not inferred.

        A provider that can serve one of its groups has the amounts and traits that any of the
        needs asks for there.
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
            # Any would do; few trees serve a large one.
            max(needs, key=lambda need: (sum(need.totals.values()), need.parts)),
        )


def _without(request: CandidateRequest, name: str, amount: int) -> CandidateRequest | None:
    """The request without the one group's amount of a class; None where there is no such group, or
    it would ask for nothing but a provider."""
    asking = [group for group in request.groups if group.resources.get(name) == amount]
    if len(asking) != 1 or len(asking[0].resources) == 1:
        return None
    left = {n: a for n, a in asking[0].resources.items() if n != name}
    groups = [
        dataclasses.replace(group, resources=left) if group is asking[0] else group
        for group in request.groups
    ]
    return dataclasses.replace(request, groups=tuple(groups))


def _part(amounts: Mapping[str, int], traits: Iterable[str]) -> Part:
    return tuple(sorted(amounts.items())), tuple(sorted(set(traits) - {DISABLED_TRAIT}))


def _request(parts: Iterable[Part]) -> CandidateRequest:
    """The request of these groups, all from one tree whose host is not disabled."""
    groups = [
        RequestGroup(
            f'_{number}' if number else '',
            dict(amounts),
            tuple([frozenset([name]) for name in traits]),
        )
        for number, (amounts, traits) in enumerate(parts)
        if amounts
    ]
    return CandidateRequest(tuple(groups), root_forbidden=frozenset([DISABLED_TRAIT]))
