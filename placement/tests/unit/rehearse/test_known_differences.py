# SPDX-License-Identifier: Apache-2.0
"""The page about coming from upstream has all known differences of the rehearsal."""

import json
from typing import Any

import pytest

from placement.tests.functional.fixtures.applications import repository_path
from placement.tests.functional.fixtures.client import Answer
from placement.tests.functional.known_differences import KNOWN, Read, find_known

SUMMARY = {'resources': {'VCPU': {'used': 0, 'capacity': 8}}, 'traits': []}
A, B, C = ({'allocations': {name: {'resources': {'VCPU': 1}}}, 'mappings': {}} for name in 'abc')


def answer(body: Any, status: int = 200, **headers: str) -> Answer:
    return Answer(status, headers, json.dumps(body).encode())


def candidates(*requests: Any, shown: str = '', **headers: str) -> Answer:
    names = [*shown, *(name for request in requests for name in request['allocations'])]
    body = {
        'allocation_requests': requests,
        'provider_summaries': dict.fromkeys(names, SUMMARY),
    }
    return answer(body, 200, **headers)


SEARCH = '/allocation_candidates?'
UNKNOWN = answer({'errors': [{'detail': 'No such trait(s): CUSTOM_A.'}]}, 400)
MALFORMED = answer({'errors': [{'detail': 'Malformed.'}]}, 400)
ERROR = answer({}, 500)

READS = {
    'Unknown names': Read(f'{SEARCH}resources=VCPU:1', 39, UNKNOWN, candidates()),
    'Summaries below 1.29': Read(
        f'{SEARCH}resources=VCPU:1&limit=1', 28, candidates(A), candidates(A, shown='b')
    ),
    'Order of candidates': Read(
        f'{SEARCH}resources=VCPU:1&limit=2', 39, candidates(A, B), candidates(A, C)
    ),
    'Groups with and without a suffix': Read(
        f'{SEARCH}resources=VCPU:1&resources1=VCPU:1', 39, candidates(A, B), candidates(A)
    ),
    'Conditions without resources': Read(
        f'{SEARCH}resources=VCPU:1&required1=!CUSTOM_A', 39, candidates(A), candidates()
    ),
    'Long searches': Read(
        f'{SEARCH}resources=VCPU:1',
        39,
        candidates(**{'openstack-placement-search': 'incomplete'}),
        candidates(A),
    ),
    'Prefixes of traits': Read(
        '/traits?name=startswith:CUSTOM_A',
        39,
        answer({'traits': ['CUSTOM_A']}),
        answer({'traits': ['CUSTOM_A', 'CUSTOMXA']}),
    ),
    'Standard names': Read(
        '/traits', 39, answer({'traits': ['HW_CPU_X86_VMX']}), answer({'traits': []})
    ),
    'Line breaks and zero bytes': Read(f'{SEARCH}limit=1%0A', 39, MALFORMED, candidates()),
    'Large writes and queries': Read(SEARCH + 'a' * 65536, 39, MALFORMED, candidates()),
    'Letter case': Read('/allocations/' + 'A' * 32, 39, answer({'a': 1}), answer({})),
    'Malformed input': Read(f'{SEARCH}resources=VCPU:99999999999999', 39, MALFORMED, ERROR),
}


@pytest.mark.parametrize('title', KNOWN)
def test_each_known_difference_is_recognised(title: str) -> None:
    assert find_known(READS[title]) == title


@pytest.mark.parametrize('title', KNOWN)
def test_each_known_difference_is_on_the_page(title: str) -> None:
    page = repository_path('doc/source/coming-from-upstream.rst').read_text()
    assert f'\n* **{title}**: ' in page.partition('What differs')[2]


def test_another_amount_is_not_known() -> None:
    fewer = {**SUMMARY, 'resources': {'VCPU': {'used': 0, 'capacity': 7}}}
    altered = {'allocation_requests': [A, C], 'provider_summaries': {'a': fewer, 'c': SUMMARY}}
    for query in ('limit=2', 'resources1=VCPU:1', 'required1=!CUSTOM_A', 'limit=3'):
        path = f'{SEARCH}resources=VCPU:1&{query}'
        assert find_known(Read(path, 39, candidates(A, B), answer(altered))) is None


def test_fewer_candidates_than_the_limit_are_not_known() -> None:
    read = Read(f'{SEARCH}resources=VCPU:1&limit=3', 39, candidates(A, B), candidates(A, B, C))
    assert find_known(read) is None


def test_a_missing_custom_trait_is_not_known() -> None:
    ours, theirs = answer({'traits': []}), answer({'traits': ['CUSTOM_A']})
    assert find_known(Read('/traits', 39, ours, theirs)) is None
    assert find_known(Read('/traits?name=startswith:CUSTOM', 39, ours, theirs)) is None
