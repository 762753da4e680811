# SPDX-License-Identifier: Apache-2.0
"""What the conditions on one provider leave of all the providers of a cloud.

Profiles are judged for all of their providers at once, amounts by the bounds of blocks.  Only
where these do not tell are providers looked at one by one, and no more than `MAX_EXAMINED`.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from placement.search.explanation import Condition, ProviderFunnel, Rejection
from placement.search.model.block import Block, Bound
from placement.search.model.kind import Profile, ProviderKind
from placement.search.model.provider import Provider
from placement.search.solver.provider_request import Match, ProviderRequest
from placement.search.solver.search_state import Search, judged, spanning_roots
from placement.search.solver.tally import Reason

# How many providers are looked at one by one to find one that may fit, and how many to tell why
# none does.
MAX_EXAMINED = 2_000
MAX_SAMPLED = 64

# How many providers were refused for which reason, by class.
Refused = Counter[tuple[Reason, str]]


class Matching(NamedTuple):
    """The providers of one bound that could serve a request if they had enough."""

    bound: Bound
    match: Match

    def by_profile(self) -> Iterator['Matching']:
        """Those of each profile by themselves."""
        return (Matching(bound, self.match) for bound in self.bound.parts)


class Survey(NamedTuple):
    """What the bounds of blocks say of matching providers.

    `hopeful` are those of which one may have room for all amounts, `others` those of which none
    has, and `most` is by class the most that any of them has room for.
    """

    hopeful: list[Matching]
    others: list[Matching]
    most: dict[str, int]


class FunnelOf:
    """One provider request held against all providers that its `in_tree` leaves."""

    def __init__(self, search: Search, request: ProviderRequest) -> None:
        self.search = search
        self.request = request
        self.rejected: Counter[Reason] = Counter()
        self.matching: list[Matching] = []
        # By whether usage is ignored.
        self._surveys: dict[bool, Survey] = {}
        self._rejected_profiles: dict[Reason, dict[Profile, None]] = {}
        # Of alike providers that use the same, None for those whose usage is ignored.
        self._refusals: dict[
            tuple[ProviderKind, tuple[int, ...] | None], tuple[Reason, str] | None
        ] = {}
        providers = 0
        for block in self._blocks():
            providers += sum([len(bound.providers) for bound in block.bounds])
            self._judge(block)
        search.work.check()
        if outside := len(search.snapshot) - providers:
            self.rejected[Reason.TREE] = outside

    def _blocks(self) -> Iterable[Block]:
        snapshot, root_id = self.search.snapshot, self.request.tree_id
        if root_id is None:
            return snapshot.blocks.values()
        return [Block({root_id: snapshot.tree(root_id)})]

    def _judge(self, block: Block) -> None:
        """Divide the profiles of a block into those that match and those that are rejected."""
        spanned: frozenset[Profile] | None = None
        for bound, verdict in judged(self.request, block):
            self.search.work.spent += 1
            if isinstance(verdict, Match) and not verdict.is_member:
                if spanned is None:
                    spanned = self._spanned_profiles(block)
                if bound.profile not in spanned:
                    verdict = Reason.AGGREGATE
            if isinstance(verdict, Match):
                self.matching.append(Matching(bound, verdict))
            else:
                self.rejected[verdict] += len(bound.providers)
                self._rejected_profiles.setdefault(verdict, {})[bound.profile] = None

    def _spanned_profiles(self, block: Block) -> frozenset[Profile]:
        """The profiles in those trees whose root is in the aggregates that are wanted."""
        spanning = {bound.profile for bound in spanning_roots(self.request, block)}
        if not spanning:
            return frozenset()
        self.search.work.spent += len(block.trees)
        return frozenset(
            member.kind.profile
            for tree in block.trees.values()
            if tree.members[0].kind.profile in spanning
            for member in tree.members
        )

    def if_infeasible(self) -> ProviderFunnel | None:
        """The funnel where no provider could serve the request if nothing were used; None where
        one could, or where too many would have to be looked at."""
        if not self.matching:
            return self._funnel(())
        refused = self._refused(ignores_usage=True)
        return None if refused is None else self._funnel(self._capacity_rejections(refused))

    def if_full(self) -> ProviderFunnel | None:
        """The funnel where no provider has room for the request now; None as above."""
        refused = self._refused(ignores_usage=False)
        return None if refused is None else self._funnel([Rejection(self._scarcity())])

    def _refused(self, ignores_usage: bool) -> Refused | None:
        """Why providers cannot fit the amounts, by class; None where one can, or may.

        Where the bounds of a block refuse the amounts, they refuse them of all its providers: of
        these a few are looked at, to tell why.
        """
        refused: Refused = Counter()
        survey = self._survey(ignores_usage)
        hopeless = list(survey.others)
        hopeful = self._hopeful(survey.hopeful, ignores_usage, hopeless)
        for examined, (provider, match) in enumerate(_each(hopeful)):
            refusal = self._refusal(provider, match, ignores_usage)
            if refusal is None or examined >= MAX_EXAMINED:
                return None
            refused[refusal] += 1
        for provider, match in itertools.islice(_each(hopeless), MAX_SAMPLED):
            refusal = self._refusal(provider, match, ignores_usage)
            if refusal is not None:
                refused[refusal] += 1
        self.search.work.check()
        return refused

    def _survey(self, ignores_usage: bool) -> Survey:
        """What the bounds of blocks say, read once however much is asked of them."""
        survey = self._surveys.get(ignores_usage)
        if survey is None:
            survey = self._surveys[ignores_usage] = self._read_bounds(ignores_usage)
        return survey

    def _read_bounds(self, ignores_usage: bool) -> Survey:
        survey = Survey([], [], dict.fromkeys(self.request.amounts, 0))
        most = survey.most
        for one in self.matching:
            may_fit = True
            for name, (position, amount) in zip(most, one.match.needs, strict=True):
                room = one.bound.room(position, ignores_usage)
                if room > most[name]:
                    most[name] = room
                if room < amount:
                    may_fit = False
            (survey.hopeful if may_fit else survey.others).append(one)
        return survey

    def _hopeful(
        self, matchings: Iterable[Matching], ignores_usage: bool, hopeless: list[Matching]
    ) -> Iterator[Matching]:
        """Those that may have room by the bound of each profile; the rest goes to `hopeless`.

        Of several profiles one may have enough of this class, and another of that.
        """
        for one in itertools.chain.from_iterable(map(Matching.by_profile, matchings)):
            if self.request.may_fit(one.bound, ignores_usage):
                yield one
            else:
                hopeless.append(one)

    def _refusal(
        self, provider: Provider, match: Match, ignores_usage: bool
    ) -> tuple[Reason, str] | None:
        self.search.work.spent += 1
        # Hosts are mostly alike: an empty search of 300 takes 100 microseconds instead of 140.
        alike = (provider.kind, None if ignores_usage else provider.used)
        if alike not in self._refusals:
            self._refusals[alike] = self._find_refusal(provider, match, ignores_usage)
        return self._refusals[alike]

    def _find_refusal(
        self, provider: Provider, match: Match, ignores_usage: bool
    ) -> tuple[Reason, str] | None:
        for position, amount in match.needs:
            used = 0 if ignores_usage else provider.used[position]
            capacity = provider.kind.capacities[position]
            refusal = capacity.refusal(amount, used)
            if refusal is not None:
                # Of what is larger than all there is, max_unit is not the reason to be told.
                reason = Reason.TOO_SMALL if amount > capacity.whole else Reason(refusal.value)
                return reason, provider.kind.classes[position]
        return None

    def _capacity_rejections(self, refused: Refused) -> list[Rejection]:
        members = sum(len(one.bound.providers) for one in self.matching)
        is_counted = refused.total() == members
        return [
            Rejection(
                self._capacity_condition(reason, name),
                refused[reason, name] if is_counted else members if len(refused) == 1 else None,
            )
            for reason in Reason
            for name in self.request.amounts
            if refused[reason, name]
        ]

    def _capacity_condition(self, reason: Reason, name: str) -> Condition:
        asked = self.request.amounts[name]
        if reason in (Reason.MIN_UNIT, Reason.STEP_SIZE):
            return Condition(reason, (name,), asked)
        return Condition(reason, (name,), asked, largest=self._survey(True).most[name])

    def _scarcity(self) -> Condition:
        """Which amount is asked for that no matching provider has free; all of them together
        where each alone is to be had."""
        for name, asked in self.request.amounts.items():
            most_free = self._survey(False).most[name]
            if asked > most_free:
                largest = self._survey(True).most[name]
                return Condition(Reason.USED, (name,), asked, largest, most_free)
        return Condition(Reason.USED, tuple(self.request.amounts))

    def _funnel(self, capacity: Iterable[Rejection]) -> ProviderFunnel:
        structural = [
            Rejection(Condition(reason, self._names(reason)), self.rejected[reason])
            for reason in Reason
            if self.rejected[reason]
        ]
        # The tree is named in the request, so it comes first whatever the order of reasons.
        structural.sort(key=lambda one: one.condition.reason is not Reason.TREE)
        return ProviderFunnel(
            self.request.group.suffix,
            tuple(self.request.amounts.items()),
            len(self.search.snapshot),
            (*structural, *capacity),
        )

    def _names(self, reason: Reason) -> tuple[str, ...]:
        """What the profiles that were rejected for a reason lack, or have, all of them."""
        group, profiles = self.request.group, self._rejected_profiles.get(reason, {})
        if reason is Reason.CLASS_MISSING:
            return _missing_everywhere(
                [frozenset([name]) for name in self.request.amounts],
                [frozenset(profile.classes) for profile in profiles],
            )
        if reason is Reason.REQUIRED_TRAIT:
            return _missing_everywhere(group.required, [one.traits for one in profiles])
        if reason is Reason.FORBIDDEN_TRAIT:
            return tuple(sorted(group.forbidden))
        if reason is Reason.AGGREGATE:
            wanted = _missing_everywhere(group.member_of, [one.aggregates for one in profiles])
            return (*wanted, *[f'!{name}' for name in sorted(group.forbidden_aggregates)])
        return (group.in_tree,) if reason is Reason.TREE and group.in_tree else ()


def _missing_everywhere(
    wanted: Iterable[frozenset[str]], present: list[frozenset[str]]
) -> tuple[str, ...]:
    """The alternatives that none of these sets meets; all of them where each is met by some."""
    names = [
        (' or '.join(sorted(alternatives)), all(map(alternatives.isdisjoint, present)))
        for alternatives in wanted
    ]
    missing = tuple([name for name, is_missing in names if is_missing])
    return missing or tuple([name for name, _ in names])


def _each(matchings: Iterable[Matching]) -> Iterator[tuple[Provider, Match]]:
    return ((provider, one.match) for one in matchings for provider in one.bound.providers)
