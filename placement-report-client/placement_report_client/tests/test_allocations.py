# SPDX-License-Identifier: Apache-2.0
"""The bodies of allocations by microversion, and what of them comes back."""

from typing import Any

import pytest

import placement_report_client as client
from placement_report_client.microversions import Microversion
from placement_report_client.tests.scripted import NEWEST, Scripted, answer, report

CONSUMER = client.Consumer('c', 'project', 'user')
MAPPINGS = {'': ('p',)}
ALLOCATIONS = client.Allocations(CONSUMER, {'p': {'VCPU': 1}}, 3, MAPPINGS)


def shown(kind: str | None = 'INSTANCE', **resources: int) -> dict[str, Any]:
    body: dict[str, Any] = {
        'allocations': {'p': {'resources': resources or {'VCPU': 1}, 'generation': 9}},
        'project_id': 'project',
        'user_id': 'user',
        'consumer_generation': 3,
    }
    return body if kind is None else {**body, 'consumer_type': kind}


@pytest.mark.parametrize(
    ('version', 'more'),
    [
        ('1.28', set()),
        ('1.33', set()),
        ('1.34', {'mappings'}),
        ('1.37', {'mappings'}),
        ('1.38', {'mappings', 'consumer_type'}),
        (NEWEST, {'mappings', 'consumer_type'}),
    ],
)
def test_body_has_the_members_of_its_version(version: str, more: set[str]) -> None:
    body = ALLOCATIONS.body(Microversion.parse(version))
    assert body.keys() == {
        'allocations', 'project_id', 'user_id', 'consumer_generation', *more
    }  # fmt: skip
    assert body['allocations'] == {'p': {'resources': {'VCPU': 1}}}
    assert body['consumer_generation'] == 3


def test_new_amounts_drop_the_mappings() -> None:
    assert ALLOCATIONS.with_amounts({}).mappings == {}


@pytest.mark.parametrize('newest', [NEWEST, '1.28'])
def test_consumer_without_type_is_written_without_type(newest: str) -> None:
    kind = 'unknown' if newest == NEWEST else None
    service = Scripted(answer(body=shown(kind)), answer(204), newest=newest)
    report(service).change_allocations('c', lambda found: found.with_amounts({}))
    written = service.sent[-1]
    assert 'consumer_type' not in written.body
    assert written.version == f'placement {"1.37" if newest == NEWEST else "1.28"}'


def test_move_sends_both_consumers_in_one_body() -> None:
    service = Scripted(answer(body=shown()), answer(204))
    report(service).move('c', 'm', client.Candidate({'q': {'VCPU': 1}}, {'': ('q',)}))
    assert service.lines() == ['GET /allocations/c', 'POST /allocations']
    source, destination = service.sent[-1].body['m'], service.sent[-1].body['c']
    assert source['allocations'] == {'p': {'resources': {'VCPU': 1}}}
    assert (source['consumer_generation'], source['consumer_type']) == (None, 'MIGRATION')
    assert destination['allocations'] == {'q': {'resources': {'VCPU': 1}}}
    assert (destination['consumer_generation'], destination['consumer_type']) == (3, 'INSTANCE')
    assert destination['mappings'] == {'': ['q']}


def test_uuid_is_quoted_as_one_path_segment() -> None:
    service = Scripted(answer(body={'allocations': {}}))
    assert report(service).find_allocations('a/b?c') is None
    assert service.lines() == ['GET /allocations/a%2Fb%3Fc']
