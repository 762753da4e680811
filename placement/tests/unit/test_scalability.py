# SPDX-License-Identifier: Apache-2.0
"""The law that the benchmarks extrapolate with finds the constants that throughput was made of."""

import pytest

from benchmarks.scalability import Law, fit

PROCESSES = (1, 2, 4, 8)


@pytest.mark.parametrize(
    'law',
    [
        Law(150, 0.03, 0.0004),
        Law(150, 0, 0.01),
        Law(150, 0.2, 0),
        Law(150, 0, 0),
    ],
)
def test_fit_finds_the_law_that_throughput_follows(law: Law) -> None:
    found = fit({n: law.throughput(n) for n in PROCESSES})

    assert (found.alone, found.contention, found.coherency) == pytest.approx(
        (law.alone, law.contention, law.coherency), abs=1e-9
    )


def test_fit_has_no_constant_below_zero() -> None:
    # Each process completes more than the one before, which no contention explains.
    law = fit({1: 100, 2: 210, 4: 450})

    assert (law.contention, law.coherency) == (0, 0)
    assert 100 < law.alone < 112.5


def test_fit_needs_as_many_measurements_as_constants() -> None:
    with pytest.raises(ValueError, match='needs 3 numbers of processes, got 2'):
        fit({1: 100, 2: 190})


def test_most_is_completed_where_another_process_would_complete_less() -> None:
    law = Law(100, 0.05, 0.001)
    best = round(law.best())

    assert best == 31
    assert law.throughput(best - 2) < law.throughput(best) > law.throughput(best + 2)


def test_law_without_coherency_has_no_most() -> None:
    assert Law(100, 0.05, 0).best() == float('inf')
