# SPDX-License-Identifier: Apache-2.0
"""One search in progress: what is asked of which snapshot, and what was counted so far."""

import functools
import random
from collections import Counter
from collections.abc import Iterator, Sequence

from placement.search.model.block import Block, Bound
from placement.search.model.kind import Profile
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree, Usage
from placement.search.solver.layout import Layout
from placement.search.solver.provider_request import Match, ProviderRequest, capacity_refusal
from placement.search.solver.resolved_request import ResolvedRequest
from placement.search.solver.tally import COMBINATION, Reason, Tally
from placement.search.solver.work import Work


class Search:
    """A resolved request, a snapshot, and the counts of work and of refusals.

    With `ignores_usage` nothing counts as used, to tell what could be found in an empty cloud.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        request: CandidateRequest,
        generator: random.Random,
        work: Work,
        ignores_usage: bool = False,
    ) -> None:
        self.snapshot = snapshot
        self.request = request
        self.random = generator
        self.work = work
        self.ignores_usage = ignores_usage
        self.tally = Tally()
        self.trees_examined = 0
        self.resolved = ResolvedRequest.of(snapshot, request, work)
        self._layouts: dict[tuple[int, ...], Layout] = {}
        self._roles: dict[Profile, tuple[object, ...]] = {}
        self._brought: dict[Profile, int] = {}
        self._distinct = self.resolved.distinct_requests
        # A candidate is found, held and written: all that takes longer the more it serves.
        self.places_per_candidate = 1 + len(self.resolved.provider_requests) // 2
        if snapshot.has_sharing:
            # It may be found again under another anchor, so it is remembered as well.
            self.places_per_candidate += 1
        self._served_by_sharing, self.shared_classes = self._sharing()
        # Where one provider has room for a request, so has its tree.
        asked = Counter(name for one in self.resolved.provider_requests for name in one.amounts)
        self._totals_in_tree = {
            name: total
            for name, total in self.resolved.totals.items()
            if asked[name] > 1 and name not in self.shared_classes
        }
        # The collected traits that no sharing provider brings, as bits.
        self._traits_to_bring = (1 << len(self.resolved.collected)) - 1
        if self._traits_to_bring:
            for provider in snapshot.sharing_providers:
                self._traits_to_bring &= ~self.traits_brought_by(provider.kind.profile)

    def _sharing(self) -> tuple[set[int], set[str]]:
        """The numbers of the distinct provider requests that some sharing provider can serve, and
        the classes that sharing providers have: no tree needs to have these of its own."""
        served: set[int] = set()
        distinct = self._distinct
        classes: set[str] = set()
        for provider in self.snapshot.sharing_providers:
            profile, capacities = provider.kind.profile, provider.kind.capacities
            used = None if self.ignores_usage else provider.used
            classes.update(profile.classes)
            self.work.spent += len(distinct)
            for request in distinct:
                verdict = request.verdict(profile)
                if isinstance(verdict, Match) and not capacity_refusal(
                    verdict.needs, capacities, used
                ):
                    served.add(request.number)
        return served, classes

    @property
    def only_roots(self) -> set[int] | None:
        """The roots that `in_tree` leaves as anchors, None for any.

        The unsuffixed group uses no sharing providers of other trees.  A suffixed one does: the
        tree it names confines the anchor only when nobody shares anything there.
        """
        confining = [
            {one.tree_id}
            for one in self.resolved.provider_requests
            if one.tree_id is not None
            and not (
                one.is_suffixed and self.snapshot.tree(one.tree_id).shape.structure.has_sharing
            )
        ]
        return set.intersection(*confining) if confining else None

    def usage_of(self, tree: Tree) -> Usage:
        """What counts as used of the members of a tree."""
        return tree.shape.unused if self.ignores_usage else tree.usage

    def layout(self, serving: tuple[int, ...]) -> Layout:
        """The layout in which the provider requests are served by these numbers."""
        layout = self._layouts.get(serving)
        if layout is None:
            layout = Layout(self.resolved.provider_requests, serving)
            self._layouts[serving] = layout
        return layout

    def traits_brought_by(self, profile: Profile) -> int:
        """Which of the collected traits a provider of this profile brings, as bits."""
        brought = self._brought.get(profile)
        if brought is None:
            self.work.compare(len(self.resolved.collected))
            brought = self._brought[profile] = sum(
                1 << bit
                for bit, alternatives in enumerate(self.resolved.collected)
                if not alternatives.isdisjoint(profile.traits)
            )
        return brought

    def role(self, profile: Profile) -> tuple[object, ...]:
        """All that matters of a profile to this request: trees whose members have equal roles
        have a plan in common."""
        role = self._roles.get(profile)
        if role is None:
            self.work.spent += len(self._distinct)
            role = self._roles[profile] = (
                profile.is_sharing,
                self.traits_brought_by(profile),
                *[one.verdict(profile) for one in self._distinct],
            )
        return role

    def admits(self, block: Block) -> bool:
        """False when certainly no tree of the block can serve the request.

        Traits that the unsuffixed group collects first: each has to be brought by some provider.
        Then bounds of single ones: each provider request needs one that has room for it.
        Then those of whole trees: all of a class that is asked for has to be in one tree.
        """
        if self._traits_to_bring and not self._brings_traits(block):
            return False
        for request in self._distinct:
            if request.number in self._served_by_sharing:
                continue
            if not self._has_room(request, block):
                self.tally.add_later(functools.partial(self._count_refusals, request, block))
                return False
        for name, total in self._totals_in_tree.items():
            if block.room_in_tree(name, self.ignores_usage) < total:
                self.tally.add(COMBINATION, Reason.ROOM, len(block.trees))
                return False
        return True

    def _has_room(self, request: ProviderRequest, block: Block) -> bool:
        """Whether some profile of a block can serve the request, and has room for each class."""
        self.work.spent += len(block.bounds)
        # One that is no member will do if a root spans it, which is asked once for all of them.
        fits_if_spanned = False
        for bound in block.bounds:
            for one in self._with_room(request, bound):
                if request.is_within(one.profile.aggregates):
                    return True
                fits_if_spanned = True
        return fits_if_spanned and root_may_span(request, block)

    def _with_room(self, request: ProviderRequest, bound: Bound) -> Sequence[Bound]:
        """The parts of a bound that can serve the request, and have room for each class."""
        if not request.may_fit(bound, self.ignores_usage):
            return ()
        if bound.is_of_one_profile:
            return (bound,)
        if len(request.amounts) == 1 and request.verdict_on_all(bound) is not None:
            # Whichever part has the room, the verdict on it is the same.
            return (bound,)
        self.work.spent += len(bound.parts)
        return [one for one in bound.parts if request.may_fit(one, self.ignores_usage)]

    def _brings_traits(self, block: Block) -> bool:
        """Whether the providers of a block have each of the traits that are to be collected."""
        missing = self._traits_to_bring
        for number, bound in enumerate(block.bounds, 1):
            missing &= ~self.traits_brought_by(bound.profile)
            if not missing:
                self.work.spent += number
                return True
        self.work.spent += len(block.bounds)
        self.tally.add('', Reason.REQUIRED_TRAIT, len(block.trees))
        return False

    def _count_refusals(self, request: ProviderRequest, block: Block) -> None:
        is_spanned = root_may_span(request, block)
        refused: dict[Reason, int] = {}
        for bound, verdict in judged(request, block):
            if isinstance(verdict, Match):
                is_within = verdict.is_member or is_spanned
                verdict = Reason.ROOM if is_within else Reason.AGGREGATE
            refused[verdict] = refused.get(verdict, 0) + len(bound.providers)
        for reason, providers in refused.items():
            self.tally.add(request.group.suffix, reason, providers)


def judged(request: ProviderRequest, block: Block) -> Iterator[tuple[Bound, Match | Reason]]:
    """Each bound of a block with the verdict on its providers; where they differ in it, or may
    differ in whether a root spans them, each of its parts."""
    for bound in block.bounds:
        verdict = request.verdict_on_all(bound)
        if verdict is None or (_needs_root(verdict) and root_may_span(request, block)):
            for one in bound.parts:
                # Never None: those of one profile do not differ.
                if verdict := request.verdict_on_all(one):
                    yield one, verdict
        else:
            yield bound, verdict


def _needs_root(verdict: Match | Reason) -> bool:
    return isinstance(verdict, Match) and not verdict.is_member


def root_may_span(request: ProviderRequest, block: Block) -> bool:
    """Whether some root of the block is in the aggregates that the unsuffixed group wants."""
    return next(spanning_roots(request, block), None) is not None


def spanning_roots(request: ProviderRequest, block: Block) -> Iterator[Bound]:
    """The bounds of profiles of roots that are in the aggregates that the unsuffixed group wants;
    none for a suffixed group, each provider of which has to be in them itself."""
    if request.is_suffixed:
        return
    for bound in block.bounds:
        if bound.roots and request.is_within(bound.profile.aggregates):
            for one in bound.parts:
                if one.roots and request.is_within(one.profile.aggregates):
                    yield one
