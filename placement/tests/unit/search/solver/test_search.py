# SPDX-License-Identifier: Apache-2.0
"""Profiles that are compared with a request together."""

import random
from typing import Any

import hypothesis
from hypothesis import strategies as st

from placement.search.model.block import Block
from placement.search.model.request import CandidateRequest, RequestGroup
from placement.search.model.snapshot import Snapshot
from placement.search.solver.resolved_request import ProviderRequest
from placement.search.solver.search import BlockFilter, Search
from placement.search.solver.work import Work
from placement.tests.unit.search.cloud import cloud, provider

TRAITS = st.frozensets(st.sampled_from('TUVW'))
AGGREGATES = st.frozensets(st.sampled_from('AB'))
ANY_TRAIT_OF = st.frozensets(st.sampled_from('TUVW'), min_size=1, max_size=3)
ANY_AGGREGATE_OF = st.sampled_from([frozenset('A'), frozenset('B'), frozenset('AB')])
HOSTS = st.lists(
    st.tuples(TRAITS, AGGREGATES, st.sampled_from(['VCPU', 'VGPU']), st.integers(0, 4)),
    min_size=1,
    max_size=8,
)
GROUPS = st.builds(
    RequestGroup,
    suffix=st.sampled_from(['', '_N']),
    resources=st.just({'VCPU': 3}),
    required=st.lists(ANY_TRAIT_OF, max_size=2).map(tuple),
    forbidden=TRAITS,
    member_of=st.lists(ANY_AGGREGATE_OF, max_size=2).map(tuple),
    forbidden_aggregates=AGGREGATES,
)


def snapshot_of(hosts: list) -> Snapshot:
    """A block of hosts with these traits, aggregates, class, and so much of it in use."""
    return cloud(*[host(number, given) for number, given in enumerate(hosts)])


def host(number: int, given: tuple) -> dict[str, Any]:
    traits, aggregates, name, used = given
    inventories: dict[str, Any] = {name: {'total': 4, 'used': used}}
    return provider(
        str(number), traits=' '.join(traits), aggregates=' '.join(aggregates), **inventories
    )


def request_for(group: RequestGroup) -> ProviderRequest:
    return ProviderRequest(0, group, group.resources)


def filter_for(group: RequestGroup) -> BlockFilter:
    request = CandidateRequest((group,))
    return BlockFilter(Search(Snapshot.of([]), request, random.Random(0), Work()))


def block_of(hosts: list) -> Block:
    (block,) = snapshot_of(hosts).blocks.values()
    return block


@hypothesis.given(HOSTS, GROUPS)
def test_profiles_that_suit_together_suit_alone(hosts: list, group: RequestGroup) -> None:
    request = request_for(group)
    for bound in block_of(hosts).bounds:
        profiles = [part.profile for part in bound.parts]
        if filter_for(group).suited(request, bound)[1]:
            assert all(request.demand_on(profile) is not None for profile in profiles)
            assert len({request.is_within(profile.aggregates) for profile in profiles}) == 1


@hypothesis.given(HOSTS, GROUPS)
def test_profiles_that_may_not_fit_together_do_not_fit_alone(
    hosts: list, group: RequestGroup
) -> None:
    request = request_for(group)
    for bound in block_of(hosts).bounds:
        fits = any(
            all(part.room(position) >= amount for position, amount in demand)
            for part in bound.parts
            # Roots outside of the wanted aggregates have no root above them that is inside.
            if request.is_within(part.profile.aggregates)
            and (demand := request.demand_on(part.profile)) is not None
        )
        assert filter_for(group).may_fit(request, bound) or not fits


@hypothesis.given(HOSTS)
def test_bounds_have_each_provider_once_and_the_most_that_any_has(hosts: list) -> None:
    block = block_of(hosts)
    assert sum(len(bound.providers) for bound in block.bounds) == len(hosts)
    for bound in block.bounds:
        assert sum(len(one.providers) for one in bound.parts) == len(bound.providers)
        for one in bound.parts:
            assert bound.least.traits <= one.profile.traits <= bound.profile.traits
            least, most = bound.least.aggregates, bound.profile.aggregates
            assert least <= one.profile.aggregates <= most
            assert one.profile.classes == bound.profile.classes
            assert {provider.kind.profile for provider in one.providers} == {one.profile}
        for one in (bound, *bound.parts):
            assert one.room(0) == max(4 - provider.used[0] for provider in one.providers)
            assert one.room(0, ignores_usage=True) == 4
