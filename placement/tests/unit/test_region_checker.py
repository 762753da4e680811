# SPDX-License-Identifier: Apache-2.0
"""The checker of a region finds what is wrong, and nothing in a record that is right."""

from typing import Any

import pytest

from benchmarks.region import checker
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


def test_an_outage_is_the_longest_time_without_an_acknowledged_write() -> None:
    operations = [write(number, 204) for number in (9, 10, 11, 17, 18, 30)] + [write(14, 503)]
    slow = Operation('one', 'claim', 'c1', 'balancer', 10, 16, 204, before={}, after={'h': 1})
    faults = [Fault('frozen', 10, 14), Fault('frozen', 29, 30)]

    assert checker.outages([*operations, slow], faults) == {'frozen': (2, 8, 6)}
