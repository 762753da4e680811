# SPDX-License-Identifier: Apache-2.0
"""Bodies of every version are understood, and replies are shown as every version knows them.

Specification: microversions. The tables of members are on the page of each route.
"""

import itertools
from typing import Any

import pytest

from placement import history
from placement.http.microversion import Api
from placement.http.reply import Reply
from placement.objects.claim.claim import Claim
from placement.schemas.not_sent import NOT_SENT

NEWEST_MINOR = len(history.HISTORY) - 1
ALL_MINORS = range(NEWEST_MINOR + 1)

PROVIDER = '0f5d1b52-9d5c-4d0f-8e5f-52a3a1e0a9b2'
CONSUMER = 'b7a09e9a-5a8c-4e1d-9c0b-5f6f1d4ad9a1'

# Since when there are claims of each kind, and the versions that change what they say.
CLAIM_GENERATIONS = {
    'allocations.set': (0, 8, 12, 28, 34, 38),
    'allocations.set_many': (13, 28, 34, 38),
    'reshaper.reshape': (30, 34, 38),
}


def at(minor: int) -> Api:
    return history.APIS[1, minor]


# Upgrades

OWNER = {'project_id': 'p', 'user_id': 'u'}
RESOURCES = {'resources': {'VCPU': 2}}
AS_LIST = [{'resource_provider': {'uuid': PROVIDER}, **RESOURCES}]
BY_PROVIDER = {PROVIDER: RESOURCES}
MAPPINGS = {'mappings': {'': [PROVIDER]}}

# What a client of each version may say of one consumer: as much as it can.
CLAIMS: dict[int, dict[str, Any]] = {
    0: {'allocations': AS_LIST},
    8: {'allocations': AS_LIST, **OWNER},
    12: {'allocations': BY_PROVIDER, **OWNER},
    28: {'allocations': BY_PROVIDER, **OWNER, 'consumer_generation': 3},
    34: {'allocations': BY_PROVIDER, **OWNER, 'consumer_generation': 3, **MAPPINGS},
    38: {
        'allocations': BY_PROVIDER,
        **OWNER,
        'consumer_generation': 3,
        **MAPPINGS,
        'consumer_type': 'INSTANCE',
    },
}


def claim_of(minor: int) -> dict[str, Any]:
    """What a client of a version may say of one consumer."""
    return CLAIMS[max(since for since in CLAIMS if since <= minor)]


def body_of(action: str, minor: int) -> Any:
    """The body that has the same to say at any version."""
    claim = claim_of(minor)
    if action == 'allocations.set':
        return claim
    if action == 'allocations.set_many':
        return {CONSUMER: claim}
    inventories = {PROVIDER: {'resource_provider_generation': 1, 'inventories': {}}}
    return {'inventories': inventories, 'allocations': {CONSUMER: claim}}


def expected_claim(minor: int) -> Claim:
    """What is to be understood of it."""
    return Claim(
        consumer_uuid=CONSUMER,
        resources={PROVIDER: {'VCPU': 2}},
        project_id='p' if minor >= 8 else 'incomplete project',
        user_id='u' if minor >= 8 else 'incomplete user',
        generation=3 if minor >= 28 else NOT_SENT,
        consumer_type='INSTANCE' if minor >= 38 else NOT_SENT,
    )


@pytest.mark.parametrize('minor', ALL_MINORS)
@pytest.mark.parametrize('action', CLAIM_GENERATIONS)
def test_claim_of_every_version_is_upgraded_to_the_newest_shape(action: str, minor: int) -> None:
    api = at(minor)
    if action not in api.handlers:
        assert minor < CLAIM_GENERATIONS[action][0]
        return
    body = body_of(action, minor)
    assert api.bodies[action].find_error(body) is None

    upgraded = api.upgraded(action, body)

    if action == 'allocations.set_many':
        upgraded = upgraded[CONSUMER]
    elif action == 'reshaper.reshape':
        upgraded = upgraded['allocations'][CONSUMER]
    claim = Claim.from_body(CONSUMER, upgraded, 'incomplete project', 'incomplete user')
    assert claim == expected_claim(minor)


@pytest.mark.parametrize('action', CLAIM_GENERATIONS)
def test_claim_in_the_shape_of_the_next_version_is_refused(action: str) -> None:
    for before, since in itertools.pairwise(CLAIM_GENERATIONS[action]):
        newer = body_of(action, since)
        assert at(since - 1).bodies[action].find_error(newer) is not None
        assert at(since).bodies[action].find_error(newer) is None
        assert at(before).bodies[action].find_error(body_of(action, before)) is None


@pytest.mark.parametrize('minor', range(1, NEWEST_MINOR + 1))
def test_aggregates_body_of_every_version_is_upgraded(minor: int) -> None:
    api, new = at(minor), minor >= 19
    body: Any = {'aggregates': [PROVIDER], 'resource_provider_generation': 7}
    body = body if new else body['aggregates']
    assert api.bodies['aggregates.set'].find_error(body) is None

    assert api.upgraded('aggregates.set', body) == {
        'aggregates': [PROVIDER],
        'resource_provider_generation': 7 if new else NOT_SENT,
    }


# Downgrades

LINKS = ('self', 'inventories', 'usages', 'aggregates', 'traits', 'allocations')
SHOWN_PROVIDER = {
    'uuid': PROVIDER,
    'name': 'host',
    'generation': 1,
    'links': [{'rel': rel, 'href': f'/{rel}'} for rel in LINKS],
    'parent_provider_uuid': None,
    'root_provider_uuid': PROVIDER,
}
SHOWN_ALLOCATIONS = {
    'allocations': {PROVIDER: {'generation': 1, 'resources': {'VCPU': 2}}},
    'project_id': 'p',
    'user_id': 'u',
    'consumer_generation': 3,
    'consumer_type': 'INSTANCE',
}


def shown(action: str, minor: int, body: Any) -> Any:
    """What a client of a version sees of a body in the newest shape."""
    return at(minor).downgraded(action, Reply(body)).body


@pytest.mark.parametrize('minor', ALL_MINORS)
@pytest.mark.parametrize('action', ['show', 'update', 'list', 'create'])
def test_reply_about_a_provider_is_downgraded_to_every_version(action: str, minor: int) -> None:
    expected_links = [
        rel for rel, since in zip(LINKS, (0, 0, 0, 1, 6, 11), strict=True) if minor >= since
    ]
    expected = {'uuid', 'name', 'generation', 'links'}
    if minor >= 14:
        expected |= {'parent_provider_uuid', 'root_provider_uuid'}
    body: Any = SHOWN_PROVIDER
    if action == 'list':
        body = {'resource_providers': [body]}

    body = shown(f'resource_providers.{action}', minor, body)

    if action == 'create' and minor < 20:
        assert body is None
        return
    provider = body['resource_providers'][0] if action == 'list' else body
    assert set(provider) == expected
    assert [link['rel'] for link in provider['links']] == expected_links


@pytest.mark.parametrize('minor', ALL_MINORS)
def test_reply_about_allocations_is_downgraded_to_every_version(minor: int) -> None:
    expected = {'allocations'}
    for since, members in (
        (12, {'project_id', 'user_id'}),
        (28, {'consumer_generation'}),
        (38, {'consumer_type'}),
    ):
        expected |= members if minor >= since else set()

    body = shown('allocations.show', minor, SHOWN_ALLOCATIONS)

    assert set(body) == expected
    assert body['allocations'] == SHOWN_ALLOCATIONS['allocations']
    nothing: dict[str, Any] = {'allocations': {}}
    assert shown('allocations.show', minor, nothing) == nothing


@pytest.mark.parametrize('minor', ALL_MINORS)
def test_reply_about_provider_allocations_is_downgraded_to_every_version(minor: int) -> None:
    consumer = {'resources': {'VCPU': 2}, 'consumer_generation': 3}
    body = {'resource_provider_generation': 1, 'allocations': {CONSUMER: consumer}}

    seen = shown('provider_allocations.list', minor, body)

    expected = {'resources', 'consumer_generation'} if minor >= 28 else {'resources'}
    assert set(seen['allocations'][CONSUMER]) == expected
    assert seen['resource_provider_generation'] == 1


@pytest.mark.parametrize('minor', range(1, NEWEST_MINOR + 1))
@pytest.mark.parametrize('action', ['aggregates.show', 'aggregates.set'])
def test_reply_about_aggregates_is_downgraded_to_every_version(action: str, minor: int) -> None:
    body = {'aggregates': [PROVIDER], 'resource_provider_generation': 1}

    expected = body if minor >= 19 else {'aggregates': [PROVIDER]}
    assert shown(action, minor, body) == expected


@pytest.mark.parametrize('minor', range(9, NEWEST_MINOR + 1))
def test_reply_about_usages_is_downgraded_to_every_version(minor: int) -> None:
    body = {
        'usages': {
            'INSTANCE': {'consumer_count': 1, 'VCPU': 1},
            'unknown': {'consumer_count': 1, 'VCPU': 2},
        }
    }

    expected = body if minor >= 38 else {'usages': {'VCPU': 3}}
    assert shown('usages.show', minor, body) == expected


@pytest.mark.parametrize('minor', range(10, NEWEST_MINOR + 1))
def test_reply_about_candidates_is_downgraded_to_every_version(minor: int) -> None:
    request = {'allocations': BY_PROVIDER, 'mappings': {'': [PROVIDER]}}
    summary = {
        'resources': {'VCPU': {'capacity': 8, 'used': 2}},
        'traits': ['T'],
        'parent_provider_uuid': None,
        'root_provider_uuid': PROVIDER,
    }
    body = {'allocation_requests': [request], 'provider_summaries': {PROVIDER: summary}}
    expected = {'resources'}
    for since, members in (
        (17, {'traits'}),
        (29, {'parent_provider_uuid', 'root_provider_uuid'}),
    ):
        expected |= members if minor >= since else set()

    seen = shown('allocation_candidates.list', minor, body)

    (candidate,) = seen['allocation_requests']
    assert candidate['allocations'] == (BY_PROVIDER if minor >= 12 else AS_LIST)
    assert ('mappings' in candidate) is (minor >= 34)
    assert set(seen['provider_summaries'][PROVIDER]) == expected
