#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The worth of each memory of the search: how much longer searches take with it switched off.

    python -m benchmarks.memories [repetitions]

Medians of processor time, side by side in one run. A memory stays if some search takes twice as
long without it. `!` marks another answer: the budget was spent.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

from benchmarks import search_core as clouds
from placement.search.candidates import find_candidates
from placement.search.model.request import CandidateRequest, RequestGroup
from placement.search.model.snapshot import Snapshot
from placement.search.solver.anchors import Plans
from placement.search.solver.nogoods import NogoodStore
from placement.search.solver.plan import Plan
from placement.search.solver.search import BlockFilter, Search
from placement.search.solver.work import BoundedCache

BUDGET = 1_500_000
Switch = Callable[[], AbstractContextManager[Any]]


class Forgetful(BoundedCache[Any, Any]):
    """A cache that remembers nothing."""

    def __init__(self) -> None:
        super().__init__(1)

    def __setitem__(self, key: object, value: object) -> None:
        pass

    def add(self, key: object, value: object) -> None:
        """Remember nothing."""


def without(owner: type, attribute: str) -> Switch:
    """A switch that empties a memory of every object of a class."""
    make = owner.__init__  # type: ignore[misc]

    def made(self: object, *given: object, **named: object) -> None:
        make(self, *given, **named)
        setattr(self, attribute, Forgetful())

    return lambda: mock.patch.object(owner, '__init__', made)


SWITCHES: dict[str, Switch] = {
    'all on': contextlib.nullcontext,
    'structure': without(Plans, '_by_structure'),
    'answers': without(Plans, '_by_answers'),
    'profiles': without(Search, '_answers'),
    'pools': lambda: mock.patch.object(Plans, 'pool_key', lambda *_: None),  # noqa: PT008
    'bounds': lambda: mock.patch.object(BlockFilter, 'admits', lambda *_: True),  # noqa: PT008
    'suited': without(BlockFilter, '_suited'),
    'layouts': without(Search, '_layouts'),
    'last': lambda: mock.patch.object(
        Plan, '_first_of_last', property(lambda _: None, lambda *_: None), create=True
    ),
    'infeasible': without(Plan, '_infeasible'),
    'nogoods': without(NogoodStore, 'nogoods'),
}


def cases() -> Iterator[tuple[str, Snapshot, CandidateRequest]]:
    """Cases to measure: a name, a cloud and a request."""
    different = Snapshot.of(clouds.different_rows(10_000))
    own_traits = Snapshot.of(clouds.own_trait_rows(10_000))
    yield '10,000 different hosts', different, clouds.flat(limit=1_000)
    yield 'randomised', different, clouds.flat(limit=10, randomize=True)
    full = RequestGroup(resources={'VCPU': 8}, forbidden=frozenset(['CUSTOM_OFF']))
    yield 'nothing free', own_traits, CandidateRequest((full,), limit=10)
    some = dataclasses.replace(full, resources={'VCPU': 2})
    yield 'traits of their own', own_traits, CandidateRequest((some,), limit=1_000)
    disk = CandidateRequest((RequestGroup(resources={'DISK_GB': 10}),))
    yield '3 pools, disk only', Snapshot.of(clouds.shared_rows(10_000)), disk
    isolated = tuple(RequestGroup(f'_{number}', {'DISK_GB': 10}) for number in range(2))
    yield '100 pools', Snapshot.of(clouds.pool_rows(100)), CandidateRequest(isolated, isolate=True)
    yield '1,000 pools', Snapshot.of(clouds.pool_rows(1_000)), disk
    yield 'wide tree 8x8', Snapshot.of(clouds.wide_rows(8, 8)), clouds.wide(8, limit=1_000)
    yield '64x64', Snapshot.of(clouds.wide_rows(64)), clouds.wide(64, limit=1_000)
    trees = list(clouds.large_tree_rows(1_000))
    yield '1,000 trees of 50', Snapshot.of(trees), clouds.packed([3, 3], limit=1_000)
    unlike = [
        row if row.parent_id else row._replace(traits=(f'CUSTOM_HOST_{row.id}',)) for row in trees
    ]
    yield 'unlike trees of 50', Snapshot.of(unlike), clouds.packed([1], limit=1_000)
    generator = random.Random(29)
    amounts = [generator.randint(6, 16) for _ in range(29)]
    hosts = Snapshot.of(clouds.function_rows(1, 10, 32))
    yield '29 groups', hosts, clouds.packed(amounts, limit=10)
    hosts = Snapshot.of(clouds.function_rows(100, 6, 10))
    yield '100 hosts that cannot', hosts, clouds.packed([4] * 8 + [3] * 9, limit=10)


def measured(
    snapshot: Snapshot, request: CandidateRequest, repetitions: int
) -> dict[str, tuple[float, int]]:
    """The median of the processor time, and the number of candidates, by switch."""
    times: dict[str, list[float]] = {name: [] for name in SWITCHES}
    found: dict[str, int] = {}
    for _ in range(repetitions):
        for name, switch in SWITCHES.items():
            # One repetition will do where searches take this long.
            if sum(times[name]) < 1:
                with switch():
                    start = time.process_time()
                    result = find_candidates(snapshot, request, random.Random(3))
                    times[name].append(time.process_time() - start)
                found[name] = -1 if result.is_cut else len(result.candidates)
    return {name: (statistics.median(of), found[name]) for name, of in times.items()}


def main() -> None:
    """Print a line for each search."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(f'{"":22}' + ''.join(f'{name:>11}' for name in SWITCHES))
    for name, snapshot, request in cases():
        gc.collect()
        gc.freeze()
        request = dataclasses.replace(request, budget=BUDGET)
        results = measured(snapshot, request, repetitions)
        base, candidates = results.pop('all on')
        cells = [
            f'{taken / base:10.1f}{" " if found == candidates else "!"}'
            for taken, found in results.values()
        ]
        print(f'{name:22}{base * 1000:8.1f} ms{"".join(cells)}', flush=True)
        gc.unfreeze()


if __name__ == '__main__':
    main()
