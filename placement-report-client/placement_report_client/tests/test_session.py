# SPDX-License-Identifier: Apache-2.0
"""Retries: of which requests, how often, how much later, and until when."""

import contextlib
import random
import time
import types
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import requests
from keystoneauth1 import exceptions

import placement_report_client as client
from placement_report_client import errors
from placement_report_client.tests.scripted import (
    NEWEST,
    QUICK,
    Scripted,
    Step,
    answer,
    error,
    report,
    versions,
)

LOST = exceptions.ConnectFailure('lost')
CONSUMER = client.Consumer('c', 'project', 'user')
CANDIDATE = client.Candidate({'p': {'VCPU': 1}})
NOTHING = answer(body={'allocations': {}})
STALE = error(409, 'placement.concurrent_update')
# The detail by which upstream wants the generation of a consumer without allocations.
GHOST = error(409, 'placement.concurrent_update',
              'consumer generation conflict - expected 0 but got None')  # fmt: skip


def there(**others: Any) -> requests.Response:
    """The answer after the claim, with other values; those that are None are left out."""
    shown = {
        'allocations': {'p': {'resources': {'VCPU': 1}, 'generation': 3}},
        'project_id': 'project',
        'user_id': 'user',
        'consumer_generation': 1,
        'consumer_type': 'INSTANCE',
    }
    return answer(body={k: v for k, v in {**shown, **others}.items() if v is not None})


@pytest.fixture
def sleeps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits, which take no time."""
    slept: list[float] = []
    monkeypatch.setattr(time, 'sleep', slept.append)
    monkeypatch.setattr(random, 'uniform', lambda _least, most: most)
    return slept


# What is safe to repeat


@pytest.mark.parametrize('failure', [LOST, error(503), error(500), error(429), answer(502, b'<')])
def test_transient_failures_are_retried(failure: Step) -> None:
    service = Scripted(failure, answer(body={'traits': ['HW_A']}))
    report(service).ensure_traits(['HW_A'])
    assert service.lines() == ['GET /traits?name=in:HW_A'] * 2


@pytest.mark.parametrize('refusal', [error(400), error(403), error(404), answer(401, b'')])
def test_refusals_are_not_retried(refusal: Step) -> None:
    service = Scripted(refusal)
    with pytest.raises((errors.Refused, errors.Gone)):
        report(service).ensure_resource_class('CUSTOM_A')
    assert len(service.lines()) == 1


def listed(*names: str) -> requests.Response:
    """The answer to a search for one provider, which has this name, or is not there."""
    found = [{'uuid': 'p', 'parent_provider_uuid': None, 'name': name} for name in names]
    return answer(body={'resource_providers': found})


@pytest.mark.parametrize(
    ('call', 'before', 'repeated'),
    [
        (lambda r: r.release('c'), [], 'DELETE /allocations/c'),
        (lambda r: r.confirm('m'), [], 'DELETE /allocations/m'),
        (lambda r: r.delete_provider('p'), [], 'DELETE /resource_providers/p'),
        (lambda r: r.ensure_resource_class('CUSTOM_A'), [], 'PUT /resource_classes/CUSTOM_A'),
        (lambda r: r.ensure_traits(['CUSTOM_A']), [answer(body={'traits': []})],
         'PUT /traits/CUSTOM_A'),
        (lambda r: r.ensure_tree(client.Provider('p', 'name')), [listed()],
         'POST /resource_providers'),
        (lambda r: r.ensure_tree(client.Provider('p', 'name')), [listed('old')],
         'PUT /resource_providers/p'),
    ],
)  # fmt: skip
def test_conflict_of_a_request_without_generation_is_retried(
    call: Callable[[client.ReportClient], object], before: list[Step], repeated: str
) -> None:
    service = Scripted(*before, STALE, STALE, answer(204))
    call(report(service))
    assert service.lines()[len(before):] == [repeated] * 3  # fmt: skip
    in_the_way = Scripted(*before, *[STALE] * QUICK.attempts)
    with pytest.raises(errors.Conflict):
        call(report(in_the_way))
    assert in_the_way.steps == []


def test_conflict_of_a_request_with_generation_reads_it_again() -> None:
    def traits(generation: int) -> requests.Response:
        return answer(body={'traits': ['HW_A'], 'resource_provider_generation': generation})

    service = Scripted(listed('name'), traits(1), STALE, traits(2), answer())
    report(service).ensure_tree(client.Provider('p', 'name', traits=()))
    puts = [sent.body for sent in service.sent if sent.method == 'PUT']
    assert [body['resource_provider_generation'] for body in puts] == [1, 2]


def test_request_for_versions_is_retried() -> None:
    service = Scripted(LOST, error(503), versions('1.20'), newest=None)
    assert str(report(service).microversion()) == '1.20'


# Claims: who has written a consumer, after an answer that was lost

BY_ANOTHER: list[dict[str, Any]] = [
    {'project_id': 'other'},
    {'user_id': 'other'},
    {'consumer_type': 'OTHER'},
    {'consumer_type': 'unknown'},
    {'allocations': {'p': {'resources': {'VCPU': 3}}}},
]
NOT_PROCESSED = [
    error(429),
    error(408),
    exceptions.DiscoveryFailure('odd'),
    exceptions.InternalServerError('keystone'),
]
VERSIONS_NOT_TOLD = [LOST, error(503), answer(200, b'<')]


@pytest.mark.parametrize(
    ('answers', 'raised', 'methods'),
    [
        # The own claim is found, but not that of another client.
        ([LOST, STALE, there()], None, 'PUT PUT GET'),
        *(([LOST, STALE, there(**others)], errors.Unreachable, 'PUT PUT GET')
          for others in BY_ANOTHER),
        # Without a lost answer, it is always that of another client.
        ([STALE, there()], errors.Conflict, 'PUT GET'),
        *(([failure, STALE, there()], errors.Conflict, None) for failure in NOT_PROCESSED),
        *(([answer(406), failure, versions(NEWEST), STALE, there()], errors.Conflict, None)
          for failure in VERSIONS_NOT_TOLD),
        # The conflict is about the provider while nobody has written the consumer.
        ([STALE, NOTHING, STALE, NOTHING, answer(204)], None, 'PUT GET PUT GET PUT'),
        ([error(409, 'placement.undefined_code')], errors.NoCapacity, 'PUT'),
    ],
)  # fmt: skip
def test_a_claim_after_a_failure(
    answers: Sequence[Step], raised: type[errors.ClientError] | None, methods: str | None
) -> None:
    service = Scripted(*answers)
    with pytest.raises(raised) if raised else contextlib.nullcontext():
        report(service).claim(CONSUMER, CANDIDATE)
    assert service.steps == []
    if methods:
        assert service.lines() == [f'{method} /allocations/c' for method in methods.split()]


@pytest.mark.parametrize('failure', VERSIONS_NOT_TOLD)
def test_failed_version_request_does_not_count_as_a_lost_answer(failure: Step) -> None:
    service = Scripted(failure, versions(NEWEST), STALE, there(), newest=None)
    with pytest.raises(errors.Conflict):
        report(service).claim(CONSUMER, CANDIDATE)


def test_consumer_type_that_was_not_sent_is_not_compared() -> None:
    service = Scripted(LOST, STALE, there(consumer_type=None), newest='1.37')
    report(service).claim(CONSUMER, CANDIDATE)
    # One of the two has no type, so that neither was sent with one.
    service = Scripted(
        there(consumer_type='unknown', consumer_generation=2), LOST, STALE,
        there(consumer_type='unknown'), there(consumer_type='unknown', consumer_generation=3),
    )  # fmt: skip
    report(service).move('c', 'm', CANDIDATE)
    assert service.steps == []


def test_retry_sends_generation_0_when_upstream_expects_it() -> None:
    service = Scripted(GHOST, NOTHING, STALE, NOTHING, answer(204))
    report(service).claim(CONSUMER, CANDIDATE)
    puts = [sent.body['consumer_generation'] for sent in service.sent if sent.method == 'PUT']
    assert puts == [None, 0, 0]


# How much later


def test_delays_double_up_to_the_maximum(sleeps: list[float]) -> None:
    limits = client.RetryPolicy(attempts=6, first_delay=0.5, max_delay=3, call_timeout=1000)
    service = Scripted(*[LOST] * 6)
    with pytest.raises(errors.Unreachable):
        report(service, limits).ensure_resource_class('CUSTOM_A')
    assert sleeps == [0.5, 1, 2, 3, 3]


def test_delays_are_random_with_full_jitter() -> None:
    waits = [client.RetryPolicy(first_delay=1, max_delay=4).delay(2) for _ in range(200)]
    assert 0 <= min(waits) < 1
    assert 3 < max(waits) <= 4


def test_delay_is_at_least_retry_after(sleeps: list[float]) -> None:
    service = Scripted(answer(503, b'', retry_after='7'), answer(204))
    report(service).ensure_resource_class('CUSTOM_A')
    assert sleeps == [7]


# Until when


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    """The time, `now`, which the test sets."""
    clock = types.SimpleNamespace(now=100.0)
    monkeypatch.setattr(time, 'monotonic', lambda: clock.now)
    return clock


def test_requests_wait_no_longer_than_the_deadline(clock: types.SimpleNamespace) -> None:
    service = Scripted(answer(204), answer(204))
    limited = report(service).within(10)
    limited.ensure_resource_class('CUSTOM_A')
    clock.now += 8
    limited.ensure_resource_class('CUSTOM_A')
    assert [sent.options['timeout'] for sent in service.sent] == [10, 10, 2]
    clock.now += 2
    with pytest.raises(errors.OutOfTime):
        limited.ensure_resource_class('CUSTOM_A')
    assert len(service.sent) == 3


@pytest.mark.usefixtures('clock')
def test_error_is_raised_when_the_deadline_leaves_no_time_to_retry(sleeps: list[float]) -> None:
    limits = client.RetryPolicy(first_delay=20, max_delay=20)
    service = Scripted(error(503))
    with pytest.raises(errors.Unreachable) as caught:
        report(service, limits).within(10).ensure_resource_class('CUSTOM_A')
    assert caught.value.status == 503
    assert sleeps == []


def test_each_call_without_deadline_has_the_call_timeout(clock: types.SimpleNamespace) -> None:
    service = Scripted(answer(204), answer(204))
    unlimited = report(service, client.RetryPolicy(call_timeout=7))
    unlimited.ensure_resource_class('CUSTOM_A')
    clock.now += 1000
    unlimited.ensure_resource_class('CUSTOM_A')
    assert service.sent[-1].options['timeout'] == 7


# What keystoneauth1 has to say


@pytest.mark.parametrize(
    ('trouble', 'kind'),
    [
        (exceptions.ConnectTimeout('slow'), errors.Unreachable),
        (exceptions.SSLError('odd'), errors.Unreachable),
        (exceptions.DiscoveryFailure('odd'), errors.Unreachable),
        (exceptions.InternalServerError('keystone'), errors.Unreachable),
        (exceptions.EndpointNotFound(), errors.Refused),
        (exceptions.Unauthorized('who?'), errors.Refused),
        (exceptions.MissingAuthPlugin(), errors.Refused),
    ],
)
def test_keystoneauth_exceptions_become_client_errors(
    trouble: Exception, kind: type[errors.ClientError]
) -> None:
    service = Scripted(*[trouble] * QUICK.attempts)
    with pytest.raises(kind) as caught:
        report(service).ensure_resource_class('CUSTOM_A')
    assert type(caught.value) is kind


def test_keystoneauth_retries_are_disabled() -> None:
    service = Scripted(answer(204))
    report(service).ensure_resource_class('CUSTOM_A')
    options = service.sent[-1].options
    assert (options['connect_retries'], options['status_code_retries']) == (0, 0)
    assert options['raise_exc'] is False
