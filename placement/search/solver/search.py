# SPDX-License-Identifier: Apache-2.0
"""One search in progress, and the blocks of trees in which it can find nothing."""

import random
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from placement.search.candidate import Layout
from placement.search.model.block import Block, Bound
from placement.search.model.kind import Profile
from placement.search.model.provider import Provider
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree, UsedAmounts
from placement.search.solver.resolved_request import Demand, ProviderRequest, ResolvedRequest, fits
from placement.search.solver.work import BoundedCache, Work

# For how many pairs of a request and a bound it is remembered whether they suit.
MAX_SUITED = 10_000


class Answer(NamedTuple):
    """All that matters of a profile to a request.

    `collected` are the traits of the unsuffixed group that the profile brings, as bits. For each
    distinct provider request there are its demand, None where the profile cannot serve it, and
    whether a provider is itself in the wanted aggregates.
    """

    collected: int
    demands: tuple[Demand | None, ...]
    is_member: tuple[bool, ...]


class Search:
    """A resolved request, a snapshot, and the count of work.

    `distinct` are the provider requests without those that ask for the same as an earlier one.

    With `ignores_usage` nothing counts as used: the search is of an empty cloud. `random` draws
    the order of what is found, None where it has one of its own.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        request: CandidateRequest,
        work: Work,
        ignores_usage: bool = False,
        generator: random.Random | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.request = request
        self.random = generator
        self.work = work
        self.ignores_usage = ignores_usage
        self.trees_examined = 0
        self.resolved = ResolvedRequest.of(snapshot, request)
        requests = self.resolved.provider_requests
        self.distinct = [request for request in requests if request.number == request.alike]
        self._layouts: dict[tuple[int, ...], Layout] = {}
        self._answers: dict[Profile, Answer] = {}
        # Generating, holding and writing a candidate takes longer the more it serves. Where there
        # is sharing it may come again under another anchor, so it is remembered as well.
        self.steps_per_candidate = 1 + len(requests) // 2 + snapshot.has_sharing

    @property
    def only_roots(self) -> set[int] | None:
        """The roots that `in_tree` leaves as anchors, None for any.

        The unsuffixed group uses no sharing providers of other trees. A suffixed one does: the
        tree it names confines the anchor only when nobody shares anything there.
        """
        confining = [
            {request.tree_id}
            for request in self.resolved.provider_requests
            if request.tree_id is not None
            and not (
                request.is_suffixed
                and self.snapshot.tree(request.tree_id).shape.structure.has_sharing
            )
        ]
        return set.intersection(*confining) if confining else None

    def usage_of(self, tree: Tree) -> UsedAmounts:
        """The usage of the members of a tree."""
        return tree.shape.unused if self.ignores_usage else tree.usage

    def used_of(self, provider: Provider) -> tuple[int, ...]:
        """The usage of one provider."""
        return (0,) * len(provider.used) if self.ignores_usage else provider.used

    def layout(self, serving: tuple[int, ...]) -> Layout:
        """The layout in which the provider requests are served by these numbers."""
        layout = self._layouts.get(serving)
        if layout is None:
            layout = self._layouts[serving] = Layout(self.resolved.provider_requests, serving)
        return layout

    def answer(self, profile: Profile) -> Answer:
        """All that matters of a profile to this request."""
        answer = self._answers.get(profile)
        if answer is None:
            self.work.compare(len(self.resolved.collected))
            for request in self.distinct:
                self.work.compare(request.sets)
            answer = self._answers[profile] = Answer(
                self.collected_by(profile),
                tuple([request.demand_on(profile) for request in self.distinct]),
                tuple([request.is_within(profile.aggregates) for request in self.distinct]),
            )
        return answer

    def collected_by(self, profile: Profile) -> int:
        """The collected traits that a provider of this profile brings, as bits."""
        return sum(
            1 << bit
            for bit, alternatives in enumerate(self.resolved.collected)
            if not alternatives.isdisjoint(profile.traits)
        )


class BlockFilter:
    """Bounds that a block has to meet, or no tree in it can serve the request.

    Sharing providers may serve a tree of any block, so what they can do is asked of no block.
    """

    def __init__(self, search: Search) -> None:
        self.search = search
        self._suited: BoundedCache[object, tuple[bool, bool, bool]] = BoundedCache(MAX_SUITED)
        self._traits = (1 << len(search.resolved.collected)) - 1
        served, shared = set[int](), set[str]()
        for provider in search.snapshot.sharing_providers:
            profile, capacities = provider.kind.profile, provider.kind.capacities
            used = search.used_of(provider)
            shared.update(profile.classes)
            answer = search.answer(profile)
            self._traits &= ~answer.collected
            served.update(
                request.number
                for request, demand in zip(search.distinct, answer.demands, strict=True)
                if demand is not None and fits(demand, capacities, used)
            )
        self._requests = [request for request in search.distinct if request.number not in served]
        # Where one provider has room for a request, so has its tree.
        askers = Counter(
            name for request in search.resolved.provider_requests for name in request.amounts
        )
        self._totals = {
            name: total
            for name, total in search.resolved.totals.items()
            if askers[name] > 1 and name not in shared
        }

    def admits(self, block: Block) -> bool:
        """False when certainly no tree of the block can serve the request.

        Traits that the unsuffixed group collects first: each has to be brought by some provider.
        Then bounds of single ones: each provider request needs one that has room for it.
        Then those of whole trees: all of a class that is asked for has to be in one tree.
        """
        self.search.work.spent += len(block.bounds) * (len(self._requests) + bool(self._traits))
        ignores_usage = self.search.ignores_usage
        return (
            self._brings_traits(block)
            and all(self._has_room(request, block) for request in self._requests)
            and all(
                block.room_in_tree(name, ignores_usage) >= total
                for name, total in self._totals.items()
            )
        )

    def _brings_traits(self, block: Block) -> bool:
        missing = self._traits
        for bound in block.bounds:
            if not missing:
                break
            missing &= ~self.search.collected_by(bound.profile)
        return not missing

    def _has_room(self, request: ProviderRequest, block: Block) -> bool:
        """Return whether some profile of a block can serve the request, and has room for each
        class."""
        # A provider outside the aggregates will do if a root spans it: asked once for all of them.
        fits_if_spanned = False
        for bound in block.bounds:
            for part in self._parts_with_room(request, bound):
                if request.is_within(part.profile.aggregates):
                    return True
                fits_if_spanned = True
        return fits_if_spanned and not request.is_suffixed and _has_member_root(request, block)

    def _parts_with_room(self, request: ProviderRequest, bound: Bound) -> Iterable[Bound]:
        """The profiles of a bound that may fit; the bound itself where all of them do alike."""
        if not self.may_fit(request, bound):
            return ()
        if bound.is_of_one_profile or (
            len(request.amounts) == 1 and self.suited(request, bound)[1]
        ):
            return (bound,)
        self.search.work.spent += len(bound.parts)
        return (part for part in bound.parts if self.may_fit(request, part))

    def may_fit(self, request: ProviderRequest, bound: Bound) -> bool:
        """False when certainly no provider of a bound can serve the request."""
        position, ignores_usage = bound.profile.position, self.search.ignores_usage
        for name, amount in request.amounts.items():
            if name not in position or bound.room(position[name], ignores_usage) < amount:
                return False
        may_suit, _, may_be_member = self.suited(request, bound)
        # A root has nobody above it whose membership could stand in for its own.
        return may_suit and (may_be_member or bound.roots < len(bound.providers))

    def suited(self, request: ProviderRequest, bound: Bound) -> tuple[bool, bool, bool]:
        """Return whether any provider of a bound may suit; whether all suit, and all or none are
        in the wanted aggregates; whether any may be.

        Neighbouring blocks mostly have the same profiles, so the answer is remembered.
        """
        most, least = bound.profile, bound.least
        key = (request.number, most, least)
        answer = self._suited.get(key)
        if answer is None:
            self.search.work.compare(request.sets)
            may_be_member = request.is_within(most.aggregates)
            are_alike = request.is_within(least.aggregates) or not may_be_member
            answer = (
                request.suits(most, least),
                request.suits(least, most) and are_alike,
                may_be_member,
            )
            self._suited.add(key, answer)
        return answer


def _has_member_root(request: ProviderRequest, block: Block) -> bool:
    """Return whether some root of the block is in the aggregates that the group wants."""
    return any(
        part.roots and request.is_within(part.profile.aggregates)
        for bound in block.bounds
        if bound.roots and request.is_within(bound.profile.aggregates)
        for part in bound.parts
    )
