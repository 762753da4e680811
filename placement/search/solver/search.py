# SPDX-License-Identifier: Apache-2.0
"""One search in progress, and the filter of blocks in which it can find nothing."""

import functools
import hashlib
import random
import sys
from collections import Counter
from collections.abc import Container, Iterable
from typing import NamedTuple

from placement.search.candidate import Layout
from placement.search.model.block import Block, Bound
from placement.search.model.kind import Profile
from placement.search.model.provider import Provider
from placement.search.model.request import CandidateRequest, Order
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree, UsedAmounts
from placement.search.solver.resolved_request import Demand, ProviderRequest, ResolvedRequest, fits
from placement.search.solver.role import Role
from placement.search.solver.work import BoundedCache, Work

# Maximum number of bounds with cached conditions.
MAX_BOUNDS = 10_000


class Answer(NamedTuple):
    """The parts of a profile that matter to the search."""

    # The demand of each distinct provider request; None if the profile cannot serve it.
    demands: tuple[Demand | None, ...]
    # Conditions of the unsuffixed group, as bits: the traits to collect that the profile lacks,
    # and all wanted aggregates unless it is in one of each set.
    failed: int


class Search:
    """A resolved request, a snapshot, and the count of work.

    `distinct` are the provider requests without repetitions of equal ones.

    `closed` has the ids of roots whose trees yield no further candidate; it may grow meanwhile.

    With `ignores_usage` the cloud counts as empty. `random` draws trees and sharing providers; it
    is None for a fixed order. `is_ordered` is True if the devices of a tree are not in the order
    of ids.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        request: CandidateRequest,
        work: Work,
        ignores_usage: bool = False,
        generator: random.Random | None = None,
        keeps_solutions: bool = False,
        closed: Container[int] = (),
    ) -> None:
        self.snapshot = snapshot
        self.request = request
        self.random = generator
        self.keeps_solutions = keeps_solutions
        self.closed = closed
        self.work = work
        self.ignores_usage = ignores_usage
        self.trees_examined = 0
        self.resolved = ResolvedRequest.of(snapshot, request)
        requests = self.resolved.provider_requests
        self.distinct = [request for request in requests if request.number == request.alike]
        self._layouts: dict[tuple[int, ...], Layout] = {}
        unsuffixed = self.resolved.bits.groups.get('')
        self._wanted = unsuffixed.wanted if unsuffixed else 0
        self._barred = unsuffixed.barred if unsuffixed else 0
        # The answer, and the conditions failed as a root, by profile and by role.
        self._answers: dict[Profile, tuple[Answer, int]] = {}
        self._of_roles: dict[Role, tuple[Answer, int]] = {}
        self._spread_positions: dict[Profile, frozenset[int]] = {}
        self.is_ordered = request.order is not Order.BY_ID
        # The cost of a candidate grows with its provider requests. If providers share, it is also
        # compared with the candidates of other anchors.
        self.steps_per_candidate = 1 + len(requests) // 2 + snapshot.has_sharing

    @property
    def only_roots(self) -> set[int] | None:
        """The roots that `in_tree` allows as anchors; None for any.

        An unsuffixed group with `in_tree` is served by members of that tree, so it must be the
        anchor. A suffixed group may be served by a sharing provider of that tree for another
        anchor, so it confines the anchor only if no member of the tree shares.
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

    @functools.cached_property
    def kept_as(self) -> str:
        """Key of the solutions cached on a tree: a digest of all parts of the request that
        determine them and their order. Empty if none are cached.

        A digest, because a request may name thousands of aggregates; interned, because every tree
        keeps the keys of several requests.
        """
        request = self.request
        if not self.keeps_solutions:
            return ''
        rules = request.isolate, request.same_subtree, request.single_provider_per_tree
        roots = request.root_required, request.root_forbidden
        parts = request.groups, rules, roots, request.order, request.spread_classes
        return sys.intern(hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest())

    def layout(self, serving: tuple[int, ...]) -> Layout:
        """The layout in which the providers with these numbers serve the provider requests."""
        layout = self._layouts.get(serving)
        if layout is None:
            layout = self._layouts[serving] = Layout(self.resolved.provider_requests, serving)
        return layout

    def role(self, profile: Profile) -> Role:
        """The conditions that providers of a profile fail."""
        self.work.compare(self.resolved.bits.comparisons)
        return self.resolved.bits.role(profile)

    def answer(self, profile: Profile) -> Answer:
        """The parts of a profile that matter to this request."""
        known = self._answers.get(profile)
        return (known or self._answered(profile))[0]

    def failed_as_root(self, profile: Profile) -> int:
        """The conditions that a root of this profile fails, as bits: on roots, on wanted, and on
        forbidden aggregates of the unsuffixed group. If one of a kind fails, all of it count."""
        known = self._answers.get(profile)
        return (known or self._answered(profile))[1]

    def _answered(self, profile: Profile) -> tuple[Answer, int]:
        role = self.role(profile)
        known = self._of_roles.get(role)
        if known is None:
            known = self._of_roles[role] = self._answer_of(role.failed, profile)
        self._answers[profile] = known
        return known

    def _answer_of(self, failed: int, profile: Profile) -> tuple[Answer, int]:
        self.work.spent += len(self.distinct)
        position, resolved = profile.position, self.resolved
        demands = [
            None
            if failed & request.own
            else tuple([(position[name], amount) for name, amount in request.amounts.items()])
            for request in self.distinct
        ]
        wanted = self._wanted if failed & self._wanted else 0
        barred = self._barred if failed & self._barred else 0
        of_root = resolved.bits.of_root if failed & resolved.bits.of_root else 0
        answer = Answer(tuple(demands), failed & resolved.collected | wanted)
        return answer, wanted | barred | of_root

    def spread_positions(self, profile: Profile) -> frozenset[int]:
        """The positions in a profile of the classes in `spread_classes`."""
        positions = self._spread_positions.get(profile)
        if positions is None:
            classes = self.request.spread_classes
            positions = frozenset([at for name, at in profile.position.items() if name in classes])
            self._spread_positions[profile] = positions
        return positions


class BlockFilter:
    """Bounds that a block must meet, or no tree in it can serve the request.

    Sharing providers may serve a tree of any block, so the bounds leave out what they offer.
    """

    def __init__(self, search: Search) -> None:
        self.search = search
        self._bounds: BoundedCache[object, tuple[int, int]] = BoundedCache(MAX_BOUNDS)
        self._collected = search.resolved.collected
        served, shared = set[int](), set[str]()
        for provider in search.snapshot.sharing_providers:
            profile, capacities = provider.kind.profile, provider.kind.capacities
            used = search.used_of(provider)
            shared.update(profile.classes)
            answer = search.answer(profile)
            self._collected &= answer.failed
            served.update(
                request.number
                for request, demand in zip(search.distinct, answer.demands, strict=True)
                if demand is not None and fits(demand, capacities, used)
            )
        self._requests = [request for request in search.distinct if request.number not in served]
        # A class of a single request needs no test of the tree: the test of providers suffices.
        askers = Counter(
            name for request in search.resolved.provider_requests for name in request.amounts
        )
        self._totals = {
            name: total
            for name, total in search.resolved.totals.items()
            if askers[name] > 1 and name not in shared
        }

    def admits(self, block: Block) -> bool:
        """False if no tree of the block can serve the request.

        The block must have a provider with each trait that the unsuffixed group collects, a
        provider with room for each provider request, and a tree with room for the total amount of
        each class.
        """
        self.search.work.spent += len(block.bounds) * (len(self._requests) + bool(self._collected))
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
        missing = self._collected
        for bound in block.bounds:
            if not missing:
                break
            missing &= self._failed(bound)[0]
        return not missing

    def _has_room(self, request: ProviderRequest, block: Block) -> bool:
        """True if some profile of a block can serve the request, and has room for each class."""
        # A provider outside the aggregates may serve if its root is in them: tested once at last.
        fits_if_spanned = False
        for bound in block.bounds:
            for part in self._parts_with_room(request, bound):
                if self._may_be_member(request, part):
                    return True
                fits_if_spanned = True
        return fits_if_spanned and self._has_member_root(request, block)

    def _parts_with_room(self, request: ProviderRequest, bound: Bound) -> Iterable[Bound]:
        """The profiles of a bound that may fit; the bound itself if all of them do."""
        if not self.may_fit(request, bound):
            return ()
        if bound.is_of_one_profile or (len(request.amounts) == 1 and self._suit(request, bound)):
            return (bound,)
        self.search.work.spent += len(bound.parts)
        return (part for part in bound.parts if self.may_fit(request, part))

    def may_fit(self, request: ProviderRequest, bound: Bound) -> bool:
        """False if no provider of a bound can serve the request."""
        position, ignores_usage = bound.profile.position, self.search.ignores_usage
        for name, amount in request.amounts.items():
            if name not in position or bound.room(position[name], ignores_usage) < amount:
                return False
        if self._failed(bound)[0] & request.own:
            return False
        # A root must be in the aggregates itself: there is none above it.
        return self._may_be_member(request, bound) or bound.roots < len(bound.providers)

    def _suit(self, request: ProviderRequest, bound: Bound) -> bool:
        """True if all providers of a bound meet their own conditions, and all or none are in the
        wanted aggregates."""
        by_all, by_any = self._failed(bound)
        are_alike = by_all & request.wanted or not by_any & request.wanted
        return bool(are_alike) and not by_any & request.own

    def _may_be_member(self, request: ProviderRequest, bound: Bound) -> bool:
        """True if any provider of a bound may be in the wanted aggregates itself."""
        return not self._failed(bound)[0] & request.wanted

    def _has_member_root(self, request: ProviderRequest, block: Block) -> bool:
        """True if some root of the block is in the aggregates that the group wants."""
        return any(
            part.roots and self._may_be_member(request, part)
            for bound in block.bounds
            if bound.roots and self._may_be_member(request, bound)
            for part in bound.parts
        )

    def _failed(self, bound: Bound) -> tuple[int, int]:
        """The conditions that all providers of a bound fail, and those that any of them may fail.

        Cached, because neighbouring blocks mostly have the same profiles.
        """
        key = (bound.profile, bound.common)
        failed = self._bounds.get(key)
        if failed is None:
            barred, search = self.search.resolved.bits.barred, self.search
            of_any = search.role(bound.profile).failed
            of_common = of_any if bound.is_of_one_profile else search.role(bound.common).failed
            failed = (of_any & ~barred | of_common & barred, of_common & ~barred | of_any & barred)
            self._bounds.add(key, failed)
        return failed
