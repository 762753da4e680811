#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The worth of each mechanism of the search: how much longer searches take without it.

    python -m benchmarks.mechanisms [--queries N] [--repetitions N] [--without NAME]... [word...]

Medians of processor time, side by side in one run, with the default budget. Words choose searches
by name; `--queries` is the number of queries in each hard family. A mechanism stays if some search
takes twice as long without it. The number after a figure counts undecided searches; `!` marks
different answers.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gc
import itertools
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import AbstractContextManager
from typing import Any, NamedTuple
from unittest import mock

from benchmarks import search_core
from benchmarks.clouds import hard
from benchmarks.clouds.rows import snapshot_of
from placement import microversions
from placement.http import microversion
from placement.search.candidates import find_candidates
from placement.search.model.block import Bound
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.solver import backtracking, bounds, plan, problem
from placement.search.solver.anchors import Plans
from placement.search.solver.nogoods import NogoodStore
from placement.search.solver.partial_assignment import PartialAssignment
from placement.search.solver.plan import Plan
from placement.search.solver.problem import Problem
from placement.search.solver.resolved_request import ProviderRequest
from placement.search.solver.search import BlockFilter, Search
from placement.search.solver.tree_order import ValueOrder
from placement.search.solver.work import BoundedCache, Work
from placement_insight.query_text import parse_text

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


def replaced(owner: object, attribute: str, by: object) -> Switch:
    """A switch that replaces a member of a class or module."""
    return lambda: mock.patch.object(owner, attribute, by, create=True)


def _undivided(self: BlockFilter, request: ProviderRequest, bound: Bound) -> Sequence[Bound]:
    """A bound for all providers of a block with the same classes, or none."""
    return (bound,) if self.may_fit(request, bound) else ()


def _in_order(problem: Problem) -> Sequence[int]:
    """The variables in the order of the request."""
    return range(len(problem.variables))


def _any_root(_: object, domains: Sequence[Sequence[int]], *__: object) -> Set[int]:
    """Every slot of a subtree as its root."""
    return {slot for domain in domains for slot in domain}


def _undeferred(
    problem: Problem,
    store: NogoodStore,
    work: Work,
    _: int | None = None,
    values: ValueOrder | None = None,
) -> Iterator[Sequence[int]]:
    """The assignments of a tree, however long the first takes."""
    return backtracking.assignments(problem, store, work, values=values)


ALL_ON = 'all on'
SWITCHES: dict[str, Switch] = {
    ALL_ON: contextlib.nullcontext,
    'structure': without(Plans, '_by_structure'),
    'answers': without(Plans, '_by_answers'),
    'profiles': without(Search, '_answers'),
    'pools': replaced(Plans, 'pool_key', lambda *_: None),
    'blocks': replaced(BlockFilter, 'admits', lambda *_: True),
    'parts': replaced(BlockFilter, '_parts_with_room', _undivided),
    'failed': without(BlockFilter, '_bounds'),
    'layouts': without(Search, '_layouts'),
    'last': replaced(Plan, '_first_of_last', lambda *_: None),
    'few': replaced(plan, 'FEW', 0),
    'infeasible': without(Plan, '_infeasible'),
    'nogoods': without(NogoodStore, 'nogoods'),
    'hardest': replaced(backtracking, 'decision_order', _in_order),
    'deferral': replaced(plan, 'assignments', _undeferred),
    'bounds': replaced(PartialAssignment, 'may_complete', lambda *_: True),
    'numbers': replaced(bounds, 'counts_fit', lambda *_: True),
    'slots': replaced(bounds, 'have_slots_of_their_own', lambda *_: True),
    'roots': replaced(problem, 'possible_roots', _any_root),
}


class Case(NamedTuple):
    """Searches of one cloud that are measured together."""

    name: str
    snapshot: Snapshot
    requests: Sequence[CandidateRequest]


def cases(queries: int, words: Sequence[str]) -> Iterator[Case]:
    """The chosen cases: families with a number of hard queries each, and single searches."""

    def is_chosen(name: str) -> bool:
        return not words or any(word in name for word in words)

    chosen = hard.queries(count=queries)
    snapshot = snapshot_of(hard.cloud(chosen))
    api = microversion.negotiated(microversions.APIS, None, otherwise=microversions.NEWEST)
    for family, of_family in itertools.groupby(chosen, key=lambda query: query.family):
        if is_chosen(family):
            parsed = [parse_text(api, one.path.partition('?')[2]) for one in of_family]
            budget = search_core.BUDGET
            requests = [dataclasses.replace(one, budget=budget) for one in parsed]
            yield Case(family, snapshot, requests)
    for one in search_core.cases():
        if is_chosen(one.name):
            yield Case(one.name, search_core.snapshot(one.plan), [one.request])


class Outcome(NamedTuple):
    """The median of the processor time of a case in seconds, the candidates of each search, and
    how many searches were not decided."""

    taken: float
    found: Sequence[int]
    undecided: int


def measured(case: Case, switches: Sequence[str], repetitions: int) -> dict[str, Outcome]:
    """The outcome of a case with each switch, in turn."""
    outcomes: dict[str, list[Outcome]] = {name: [] for name in switches}
    # The bounds of blocks are computed on first use.
    _outcome(case)
    for _ in range(repetitions):
        for name, outcome in outcomes.items():
            # One repetition will do where searches take this long.
            if sum(one.taken for one in outcome) < 1:
                with SWITCHES[name]():
                    outcome.append(_outcome(case))
    return {
        name: of[0]._replace(taken=statistics.median(one.taken for one in of))
        for name, of in outcomes.items()
    }


def _outcome(case: Case) -> Outcome:
    start = time.process_time()
    results = [find_candidates(case.snapshot, one, random.Random(3)) for one in case.requests]
    taken = time.process_time() - start
    found = [len(result.candidates) for result in results]
    undecided = sum(result.is_cut and not result.candidates for result in results)
    return Outcome(taken, found, undecided)


def _cell(outcome: Outcome, base: Outcome) -> str:
    """The ratio of times, and marks of other differences."""
    differs = '!' if outcome.found != base.found else ''
    undecided = f'{outcome.undecided}' if outcome.undecided else ''
    return f'{outcome.taken / base.taken:8.1f}{undecided + differs:>4}'


def main() -> None:
    """Print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('words', nargs='*', metavar='word')
    parser.add_argument('--queries', type=int, default=30)
    parser.add_argument('--repetitions', type=int, default=5)
    parser.add_argument('--without', action='append', choices=[*SWITCHES][1:], metavar='NAME')
    options = parser.parse_args()
    switches = options.without or [*SWITCHES][1:]
    print(f'{"search":36}{"ms":>9}' + ''.join(f'{name:>12}' for name in switches))
    for case in cases(options.queries, options.words):
        gc.collect()
        gc.freeze()
        outcomes = measured(case, [ALL_ON, *switches], options.repetitions)
        base = outcomes.pop(ALL_ON)
        cells = ''.join(_cell(outcome, base) for outcome in outcomes.values())
        print(f'{case.name:36}{base.taken * 1000:9.1f}{cells}', flush=True)
        gc.unfreeze()


if __name__ == '__main__':
    main()
