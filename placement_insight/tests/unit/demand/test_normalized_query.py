# SPDX-License-Identifier: Apache-2.0
"""One query for all who ask the same (specification: insight, "GET /insight/unmet_demand")."""

import dataclasses
import random
import re
import urllib.parse

import hypothesis
import pytest
from hypothesis import strategies

from placement import microversions
from placement.http import candidate_query
from placement.http.querystring import Query
from placement.search.model.request import CandidateRequest, RequestGroup
from placement_insight.demand.normalized_query import NormalizedQuery, normalized

NEWEST = next(reversed(microversions.APIS.values()))
A, B = 'aaaaaaaa-0000-4000-8000-000000000001', 'bbbbbbbb-0000-4000-8000-000000000001'


def parse(query: str) -> CandidateRequest:
    parameters = urllib.parse.parse_qsl(query, strict_parsing=True)
    return candidate_query.parse(NEWEST, Query(parameters))


def of(query: str) -> NormalizedQuery:
    return normalized(parse(query))


ALIKE = 'resources_A=VF:1&resources_B=VF:1&resources_C=VF:1&resources_D=VF:1&group_policy=none'


@pytest.mark.parametrize(
    ('query', 'same'),
    [
        ('resources=VCPU:1,MEMORY_MB:2', 'resources=MEMORY_MB:2,VCPU:1&limit=5'),
        (f'resources=VCPU:1&in_tree={A}', f'resources=VCPU:1&in_tree={B}'),
        *(
            (f'{ALIKE}&{query}', f'{ALIKE}&{same}')
            for query, same in (
                ('same_subtree=_A,_B', 'same_subtree=_D,_C'),
                (f'in_tree_A={A}&same_subtree=_A,_B,_C', f'in_tree_D={B}&same_subtree=_A,_B,_C'),
                ('required_A=X&same_subtree=_A,_C', 'required_B=X&same_subtree=_B,_D'),
                (
                    'same_subtree=_A,_B&same_subtree=_B,_C&same_subtree=_C,_D',
                    'same_subtree=_C,_A&same_subtree=_A,_D&same_subtree=_D,_B',
                ),
            )
        ),
    ],
)
def test_order_and_names_of_suffixes_make_no_difference(query: str, same: str) -> None:
    assert of(query).query == of(same).query
    assert of(query).fingerprint == of(same).fingerprint


def test_which_groups_are_in_one_subtree_makes_a_difference() -> None:
    chain = f'{ALIKE}&same_subtree=_A,_B&same_subtree=_B,_C&same_subtree=_C,_D'
    star = f'{ALIKE}&same_subtree=_A,_B&same_subtree=_A,_C&same_subtree=_A,_D'
    assert of(chain).fingerprint != of(star).fingerprint


def test_what_the_query_does_not_say_makes_a_difference() -> None:
    """A tree that is named, and a version that combines no providers."""
    request = parse('resources=VCPU:1')
    in_tree = dataclasses.replace(request.groups[0], in_tree=A)
    for other in (
        dataclasses.replace(request, groups=(in_tree,)),
        dataclasses.replace(request, single_provider_per_tree=True),
    ):
        assert normalized(other).query == normalized(request).query
        assert normalized(other).fingerprint != normalized(request).fingerprint


def test_the_trees_that_were_named_are_kept_beside_the_query() -> None:
    found = of(f'resources=VCPU:1&in_tree={A}&resources_net=VF:1&in_tree_net={B}')

    assert found.query == 'resources=VCPU:1&resources1=VF:1'
    assert found.trees == f'in_tree={A}&in_tree1={B}'
    assert parse(f'{found.query}&{found.trees}').groups[0].in_tree == A


NAMES = strategies.sets(strategies.sampled_from(['A', 'B', 'C', 'D']), min_size=1, max_size=3)


@strategies.composite
def queries(draw: strategies.DrawFn) -> list[tuple[str, str]]:
    """Parameters of a valid query, in any order."""
    known = strategies.sampled_from(['', '1', '_x', '_y'])
    suffixes = draw(strategies.lists(known, min_size=1, unique=True))
    amounts = strategies.integers(1, 3)
    parameters = [(f'resources{suffix}', f'VCPU:{draw(amounts)}') for suffix in suffixes]
    for suffix in suffixes:
        if draw(strategies.booleans()):
            names = sorted(draw(NAMES)) + (['!Z'] if draw(strategies.booleans()) else [])
            parameters.append((f'required{suffix}', ','.join(names)))
        if draw(strategies.booleans()):
            parameters.append((f'required{suffix}', f'in:{",".join(draw(NAMES))}'))
        if draw(strategies.booleans()):
            parameters.append((f'member_of{suffix}', draw(strategies.sampled_from([A, f'!{B}']))))
    suffixed = [suffix for suffix in suffixes if suffix]
    if suffixed:
        subtrees = strategies.lists(strategies.sampled_from(suffixed), min_size=1, unique=True)
        for subtree in draw(strategies.lists(subtrees, max_size=2)):
            parameters.append(('same_subtree', ','.join(subtree)))
    if draw(strategies.booleans()):
        parameters.append(('root_required', draw(strategies.sampled_from(['A', '!B', 'C,!A']))))
    parameters.append(('group_policy', draw(strategies.sampled_from(['none', 'isolate']))))
    return parameters


@hypothesis.given(queries(), strategies.randoms())
@hypothesis.settings(deadline=None, max_examples=150, derandomize=True)
def test_the_query_of_a_request_asks_for_the_same(
    parameters: list[tuple[str, str]], generator: random.Random
) -> None:
    """However it is shuffled, and also when the query itself is sent."""
    request = candidate_query.parse(NEWEST, Query(parameters))
    shuffled = renamed(generator.sample(parameters, len(parameters)), generator)
    again = candidate_query.parse(NEWEST, Query(shuffled))
    found = normalized(request)

    assert normalized(again)[:3] == found[:3]
    sent = parse(found.query)
    assert normalized(sent)[:3] == found[:3]
    assert sent.isolate == request.isolate
    assert sorted(len(one) for one in sent.same_subtree) == sorted(map(len, request.same_subtree))
    assert sorted(map(meaning, sent.groups)) == sorted(map(meaning, request.groups))
    assert sent.root_required == request.root_required
    assert sent.root_forbidden == request.root_forbidden


def renamed(parameters: list[tuple[str, str]], generator: random.Random) -> list[tuple[str, str]]:
    """The same parameters with other suffixes."""
    known = ['1', '_x', '_y']
    names = dict(zip(known, generator.sample(known, 3), strict=True))
    pattern = re.compile('|'.join(known))
    return [
        (
            pattern.sub(lambda match: names[match[0]], name),
            pattern.sub(lambda match: names[match[0]], value) if name == 'same_subtree' else value,
        )
        for name, value in parameters
    ]


def meaning(group: RequestGroup) -> str:
    """The conditions of a group, without its suffix and without repetitions."""
    return repr(
        [
            group.is_suffixed,
            sorted(group.resources.items()),
            sorted(map(sorted, set(group.required))),
            sorted(group.forbidden),
            sorted(map(sorted, set(group.member_of))),
            sorted(group.forbidden_aggregates),
        ]
    )
