# SPDX-License-Identifier: Apache-2.0
"""Requests of a scheduler as queries, and the microversions that they need."""

import pytest

import placement_report_client as client
from placement_report_client.tests.scripted import Scripted, answer, report

Group = client.RequestGroup
Request = client.CandidateRequest
VCPU = {'VCPU': 1}
ANY = Group(VCPU)
EVERY_MEMBER = Group(
    VCPU,
    required=['A', 'B'],
    any_of=[['C', 'D'], ['E']],
    forbidden=['F'],
    member_of=[['x', 'y'], ['z']],
    forbidden_aggregates=['v', 'w'],
    in_tree='t',
)
TRAITS_AND_AMOUNTS = Group({'VCPU': 2, 'MEMORY_MB': 512}, required=['A'], forbidden=['B'])
OF_NODES = Request(
    {'_A': ANY, '_B': ANY},
    same_subtree=[['_A', '_B'], ['_B']],
    root_required=['R'],
    root_forbidden=['S'],
)


@pytest.mark.parametrize(
    ('request_', 'query'),
    [
        (
            Request({'': TRAITS_AND_AMOUNTS}, limit=10),
            'resources=VCPU:2,MEMORY_MB:512&required=A,!B&limit=10',
        ),
        (
            Request({'_NET': EVERY_MEMBER}),
            (
                'resources_NET=VCPU:1&required_NET=A,B,!F&required_NET=in:C,D&required_NET=in:E'
                '&member_of_NET=in:x,y&member_of_NET=in:z&member_of_NET=!in:v,w&in_tree_NET=t'
            ),
        ),
        (Request({'': ANY, '1': ANY}), 'resources=VCPU:1&resources1=VCPU:1'),
        (
            Request({'1': ANY, '2': ANY}, isolate=True),
            'resources1=VCPU:1&resources2=VCPU:1&group_policy=isolate',
        ),
        (
            OF_NODES,
            (
                'resources_A=VCPU:1&resources_B=VCPU:1&group_policy=none'
                '&same_subtree=_A,_B&same_subtree=_B&root_required=R,!S'
            ),
        ),
    ],
)
def test_a_request_is_sent_as_readable_query(request_: Request, query: str) -> None:
    assert request_.query() == query


@pytest.mark.parametrize(
    ('request_', 'version'),
    [
        (Request({'': ANY}), '1.12'),
        (Request({'': ANY}, limit=1), '1.16'),
        (Request({'': Group(VCPU, required=['A'])}), '1.17'),
        (Request({'': Group(VCPU, member_of=[['x', 'y']])}), '1.21'),
        (Request({'': Group(VCPU, forbidden=['A'])}), '1.22'),
        (Request({'': Group(VCPU, member_of=[['x'], ['y']])}), '1.24'),
        (Request({'1': ANY}), '1.25'),
        (Request({'': Group(VCPU, in_tree='t')}), '1.31'),
        (Request({'': Group(VCPU, forbidden_aggregates=['x'])}), '1.32'),
        (Request({'0': ANY}), '1.33'),
        (Request({'_A': ANY}), '1.33'),
        (Request({'': ANY}, root_required=['A']), '1.35'),
        (Request({'': ANY}, root_forbidden=['A']), '1.35'),
        (Request({'1': ANY}, same_subtree=[['1']]), '1.36'),
        (Request({'': Group(VCPU, any_of=[['A', 'B']])}), '1.39'),
    ],
)
def test_a_request_needs_the_version_of_its_newest_feature(
    request_: Request, version: str
) -> None:
    assert str(max(feature.since for feature in request_.needs())) == version


def test_candidates_of_an_old_service_are_parsed() -> None:
    shown = {
        'allocation_requests': [{'allocations': {'p': {'resources': {'VCPU': 1}}}}],
        'provider_summaries': {'p': {'resources': {'VCPU': {'capacity': 8, 'used': 1}}}},
    }
    service = Scripted(answer(body=shown), newest='1.12')
    found = report(service).find_candidates(Request({'': ANY}))
    assert list(found) == [client.Candidate({'p': {'VCPU': 1}})]
    assert found.summaries == {
        'p': client.ProviderSummary({'VCPU': client.Stock(8, 1)}, frozenset(), None, None)
    }
