# SPDX-License-Identifier: Apache-2.0
"""The universal scalability law, fitted to throughput by number of processes.

Gunther's law says what `n` processes complete where one completes `alone`:

    n * alone / (1 + contention * (n - 1) + coherency * n * (n - 1))

`contention` is the share of the work that one process at a time can do, and `coherency` what each
process spends on what each other one has done.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: The constants, and so the fewest numbers of processes that determine them.
UNKNOWNS = 3


@dataclass(frozen=True)
class Law:
    """The law with its three constants."""

    alone: float
    contention: float
    coherency: float

    def throughput(self, processes: int) -> float:
        """The throughput of a number of processes, per second."""
        others = processes - 1
        cost = 1 + self.contention * others + self.coherency * processes * others
        return processes * self.alone / cost

    def best(self) -> float:
        """The number of processes that complete most; infinite where each more adds something."""
        if self.coherency == 0:
            return math.inf
        return math.sqrt(max(1 - self.contention, 0) / self.coherency)


def fit(throughput: Mapping[int, float]) -> Law:
    """The law with the least squares of error, without negative constants.

    The time that a process takes for a unit, `n / throughput`, is linear in the constants. Errors
    count in proportion to it.

    :raises ValueError: there are fewer numbers of processes than unknown constants
    """
    if len(throughput) < UNKNOWNS:
        raise ValueError(f'the law needs {UNKNOWNS} numbers of processes, got {len(throughput)}')
    rows = [
        [rate / n * term for term in (1, n - 1, n * (n - 1))] for n, rate in throughput.items()
    ]
    # The best of the solutions that leave out terms and have no negative constant.
    chosen = itertools.chain.from_iterable(
        itertools.combinations((1, 2), count) for count in range(UNKNOWNS)
    )
    found = [solution for terms in chosen if min(solution := _solve(rows, (0, *terms))) >= 0]
    alone, contention, coherency = min(found, key=lambda solution: _error(rows, solution))
    return Law(1 / alone, contention / alone, coherency / alone)


def _error(rows: Sequence[Sequence[float]], solution: Sequence[float]) -> float:
    return sum((sum(map(operator.mul, row, solution)) - 1) ** 2 for row in rows)


def _solve(rows: Sequence[Sequence[float]], terms: Sequence[int]) -> list[float]:
    """The constants of least squares where each row should give one; 0 for the other terms."""
    matrix = [
        [sum(row[i] * row[j] for row in rows) for j in terms] + [sum(row[i] for row in rows)]
        for i in terms
    ]
    for pivot, line in enumerate(matrix):
        line[:] = [value / line[pivot] for value in line]
        for other in matrix[:pivot] + matrix[pivot + 1 :]:
            factor = other[pivot]
            other[:] = [value - factor * of for value, of in zip(other, line, strict=True)]
    solution = [0.0] * UNKNOWNS
    for term, line in zip(terms, matrix, strict=True):
        solution[term] = line[-1]
    return solution
