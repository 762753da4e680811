# SPDX-License-Identifier: Apache-2.0
"""The checker of a region finds what is wrong, and nothing in a record that is right."""

from typing import Any

import pytest

from benchmarks.region import alerts, checker
from benchmarks.region.nemesis import Fault
from benchmarks.region.record import Operation

HOLDS = {'c1': {'h': 2}}
FINAL = {'h': {'c1': 2}}
CAPACITIES = {'h': 3}


def write(number: int, status: int, text: str = '', **others: Any) -> Operation:
    """A claim of `c1` that ended after so many seconds."""
    given = {'before': {}, 'after': {'h': 2}, 'request_id': f'req-{number}', **others}
    return Operation('one', 'claim', 'c1', 'balancer', number, number, status, text, **given)


def row(number: int, generation: int, **amounts: int) -> dict[str, Any]:
    """A row of the history, with what consumers hold."""
    allocations = {c: {'resources': {'VCPU': n} if n else {}} for c, n in amounts.items()}
    return {
        'kind': 'provider', 'uuid': 'h', 'generation': generation, 'at': '',
        'global_request_id': f'req-{number}', 'state': {'allocations': allocations},
    }  # fmt: skip


RIGHT: dict[str, Any] = {
    'operations': [
        write(1, 409),
        write(2, 503, 'No worker of the service can be reached at the moment'),
        write(3, 504, 'A change may have been made'),
        write(4, 0),
        write(6, 503, 'The change may have been made', has_retry_after=False),
        write(5, 204),
    ],
    'holds': HOLDS,
    'history': [row(3, 2, c1=1), row(9, 3, c1=0), row(5, 4, c1=2)],
    'capacities': CAPACITIES,
    'final': FINAL,
    'followed': {'h': 2},
}


def test_a_right_record_has_nothing_wrong() -> None:
    assert list(checker.check(**RIGHT)) == []


@pytest.mark.parametrize(
    ('wrong', 'found'),
    [
        ({'operations': [write(8, 500)]}, 'is answered 500'),
        ({'operations': [write(2, 503, has_retry_after=False)]}, 'has no Retry-After'),
        ({'operations': [write(7, 204)]}, 'answered 204, has no row'),
        ({'operations': [write(5, 409)]}, 'answered 409, has a row'),
        ({'operations': [write(5, 503)]}, 'answered 503, has a row'),
        ({'holds': {}}, "h has {'c1': 2}, and clients know of {}"),
        ({'holds': {'c1': {'h': 1}}}, "and clients know of {'c1': 1}"),
        ({'history': [row(5, 4, c1=2), row(6, 5, c2=2), row(7, 6, c2=0)]}, 'has more than 3'),
        ({'history': [row(3, 2, c1=1), row(5, 2, c1=2)]}, 'has generation 2 after 2'),
        ({'history': [row(5, 2, c1=1)]}, "ends with {'c1': 1}"),
        ({'followed': {'h': 1}}, 'the follower has 1'),
    ],
)
def test_what_is_wrong_is_found(wrong: dict[str, Any], found: str) -> None:
    (line,) = checker.check(**{**RIGHT, **wrong})

    assert found in line


@pytest.mark.parametrize(
    ('before', 'after', 'operation', 'is_right'),
    [
        (None, 1, write(1, 204), True),
        (1, None, write(1, 204), True),
        (1, 2, write(1, 204), True),
        (2, 2, write(1, 204), False),
        (2, 1, write(1, 204), False),
        (1, 1, write(1, 409), True),
        (1, 2, write(1, 409), False),
        (1, 1, write(1, 0), True),
        (1, 2, write(1, 0), True),
        (2, 1, write(1, 0), False),
    ],
)
def test_the_generation_of_a_consumer_grows_with_its_writes_alone(
    before: int | None, after: int | None, operation: Operation, is_right: bool
) -> None:
    assert checker.has_grown(before, after, operation) is is_right


def test_an_outage_is_the_longest_time_without_an_acknowledged_write() -> None:
    operations = [write(number, 204) for number in (9, 10, 11, 17, 18, 30)] + [write(14, 503)]
    slow = Operation('one', 'claim', 'c1', 'balancer', 10, 16, 204, before={}, after={'h': 1})
    faults = [Fault('frozen', 10, 14), Fault('frozen', 29, 30)]

    assert checker.outages([*operations, slow], faults) == {'frozen': (2, 8, 6)}


def series(name: str, state: str, *times: int, instance: str = 'c1') -> dict[str, Any]:
    """When an alert was pending, or firing, as Prometheus says it."""
    labels = {'alertname': name, 'alertstate': state, 'instance': instance}
    return {'metric': labels, 'values': [[100 + time, '1'] for time in times]}


def test_an_alert_is_caused_by_the_fault_that_was_there_when_it_became_true() -> None:
    faults = [Fault('killed', 10, 14), Fault('frozen', 30, 38), Fault('killed', 60, 64)]
    found = alerts.by_name(
        [
            # It fires as soon as it was pending for long enough, and counts once.
            series('Down', 'pending', 20, 22, 24),
            series('Down', 'firing', 26, 28, 30),
            series('Down', 'pending', 40, 42, instance='c2'),
            series('Down', 'pending', 62, instance='c2'),
            series('Full', 'pending', 2, 4, 6),
        ],
        100,
        faults,
    )

    assert found == {
        'Down': alerts.Alert(True, ['killed', 'frozen']),
        'Full': alerts.Alert(False, [alerts.WORKLOAD]),
    }
