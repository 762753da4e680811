# SPDX-License-Identifier: Apache-2.0
"""Requests of a scheduler as queries, and the microversions that they need."""

from urllib import parse

import pytest

import placement_report_client as client
from placement_report_client.microversions import Feature, Microversion
from placement_report_client.tests.scripted import Scripted, answer, report

Group = client.RequestGroup
VCPU = {'VCPU': 1}


def query_of(**groups: client.RequestGroup) -> list[tuple[str, str]]:
    return parse.parse_qsl(client.CandidateRequest(groups).query())


def needed(request: client.CandidateRequest) -> Microversion:
    return max(feature.since for feature in request.needs())


def needed_by(group: client.RequestGroup) -> Microversion:
    return needed(client.CandidateRequest({'': group}))


def test_query_is_readable_text() -> None:
    group = Group({'VCPU': 2, 'MEMORY_MB': 512}, required=['A'], forbidden=['B'])
    assert client.CandidateRequest({'': group}, limit=10).query() == (
        'resources=VCPU:2,MEMORY_MB:512&required=A,!B&limit=10'
    )


def test_every_parameter_of_a_group_has_its_suffix() -> None:
    group = Group(
        VCPU,
        required=['A', 'B'],
        any_of=[['C', 'D'], ['E']],
        forbidden=['F'],
        member_of=[['x', 'y'], ['z']],
        forbidden_aggregates=['v', 'w'],
        in_tree='t',
    )
    assert query_of(_NET=group) == [
        ('resources_NET', 'VCPU:1'),
        ('required_NET', 'A,B,!F'),
        ('required_NET', 'in:C,D'),
        ('required_NET', 'in:E'),
        ('member_of_NET', 'in:x,y'),
        ('member_of_NET', 'in:z'),
        ('member_of_NET', '!in:v,w'),
        ('in_tree_NET', 't'),
    ]


@pytest.mark.parametrize(('isolate', 'policy'), [(True, 'isolate'), (False, 'none')])
def test_several_groups_send_a_group_policy(isolate: bool, policy: str) -> None:
    groups = {'': Group(VCPU), '1': Group(VCPU), '2': Group(VCPU)}
    request = client.CandidateRequest(groups, isolate=isolate)
    assert parse.parse_qs(request.query())['group_policy'] == [policy]


def test_one_group_sends_no_group_policy() -> None:
    assert 'group_policy' not in dict(query_of(**{'': Group(VCPU), '1': Group(VCPU)}))


def test_same_subtree_and_root_traits_are_sent_without_suffix() -> None:
    request = client.CandidateRequest(
        {'_A': Group(VCPU), '_B': Group(VCPU)},
        same_subtree=[['_A', '_B'], ['_B']],
        root_required=['R'],
        root_forbidden=['S'],
    )
    query = parse.parse_qs(request.query())
    assert query['same_subtree'] == ['_A,_B', '_B']
    assert query['root_required'] == ['R,!S']


@pytest.mark.parametrize(
    ('group', 'version'),
    [
        (Group(VCPU), '1.12'),
        (Group(VCPU, required=['A']), '1.17'),
        (Group(VCPU, member_of=[['x', 'y']]), '1.21'),
        (Group(VCPU, forbidden=['A']), '1.22'),
        (Group(VCPU, member_of=[['x'], ['y']]), '1.24'),
        (Group(VCPU, in_tree='t'), '1.31'),
        (Group(VCPU, forbidden_aggregates=['x']), '1.32'),
        (Group(VCPU, any_of=[['A', 'B']]), '1.39'),
    ],
)
def test_group_needs_the_version_of_its_newest_feature(
    group: client.RequestGroup, version: str
) -> None:
    assert str(needed_by(group)) == version


@pytest.mark.parametrize(
    ('request_', 'version'),
    [
        (client.CandidateRequest({'': Group(VCPU)}, limit=1), '1.16'),
        (client.CandidateRequest({'1': Group(VCPU)}), '1.25'),
        (client.CandidateRequest({'0': Group(VCPU)}), '1.33'),
        (client.CandidateRequest({'_A': Group(VCPU)}), '1.33'),
        (client.CandidateRequest({'': Group(VCPU)}, root_required=['A']), '1.35'),
        (client.CandidateRequest({'1': Group(VCPU)}, same_subtree=[['1']]), '1.36'),
    ],
)
def test_request_needs_the_version_of_its_newest_feature(
    request_: client.CandidateRequest, version: str
) -> None:
    assert str(needed(request_)) == version


def test_search_with_unsupported_feature_is_not_sent() -> None:
    service = Scripted(newest='1.38')
    group = Group(VCPU, any_of=[['A', 'B']])
    with pytest.raises(client.TooOld, match=r'one of several traits \(1\.39\)'):
        report(service).find_candidates(client.CandidateRequest({'': group}))
    assert service.lines() == []


def test_candidates_of_an_old_service_are_parsed() -> None:
    shown = {
        'allocation_requests': [{'allocations': {'p': {'resources': {'VCPU': 1}}}}],
        'provider_summaries': {'p': {'resources': {'VCPU': {'capacity': 8, 'used': 1}}}},
    }
    service = Scripted(answer(body=shown), newest='1.12')
    found = report(service).find_candidates(client.CandidateRequest({'': Group(VCPU)}))
    assert list(found) == [client.Candidate({'p': {'VCPU': 1}})]
    assert found.summaries == {
        'p': client.ProviderSummary({'VCPU': client.Stock(8, 1)}, frozenset(), None, None)
    }


def test_request_with_every_parameter_needs_every_search_feature() -> None:
    group = Group(
        VCPU, ['A'], [['B']], ['C'], [['x'], ['y']], forbidden_aggregates=['z'], in_tree='t'
    )
    request = client.CandidateRequest(
        {'': group, '_A': group}, same_subtree=[['_A']], root_required=['A'], limit=1
    )
    elsewhere = {
        Feature.TRAITS, Feature.RESOURCE_CLASS_ENSURED, Feature.AGGREGATES, Feature.PROVIDERS,
        Feature.CONSUMER_GENERATIONS, Feature.MAPPINGS, Feature.REPARENTING,
        Feature.CONSUMER_TYPES,
    }  # fmt: skip
    assert request.needs() == set(Feature) - elsewhere
