# SPDX-License-Identifier: Apache-2.0
"""Proofs of a record, against what the service says when all is over."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.region.nemesis import Fault
from benchmarks.region.record import Operation

WRITES = ('claim', 'move', 'release')
# Seconds after the end of a fault in which it may still be felt.
FELT = 8


def check(
    operations: Sequence[Operation],
    holds: Mapping[str, Mapping[str, int]],
    history: Sequence[Mapping[str, Any]],
    capacities: Mapping[str, int],
    final: Mapping[str, Mapping[str, int]],
    followed: Mapping[str, int],
) -> Iterator[str]:
    """What is wrong, in words.

    `holds` is what clients know of their consumers by host, `final` what hosts have by consumer,
    `history` the rows of the change history, first change first, and `followed` the copy of a
    follower.
    """
    yield from _refusals(operations)
    yield from _requests_in_history(operations, history)
    yield from _final_state(holds, final)
    yield from _replayed(history, capacities, final)
    for host, by_consumer in final.items():
        if followed.get(host) != sum(by_consumer.values()):
            yield f'the follower has {followed.get(host)} used of {host}: {by_consumer}'


def _refusals(operations: Iterable[Operation]) -> Iterator[str]:
    for one in operations:
        if one.status >= 500 and one.status not in (502, 503, 504):
            yield f'{one.kind} at {one.where} is answered {one.status}: {one.text}'
        # Where a change may have been made, a client has to read before it asks again.
        if one.status == 503 and not one.is_unknown and not one.has_retry_after:
            yield f'503 at {one.where} has no Retry-After: {one.text}'


def _requests_in_history(
    operations: Iterable[Operation], history: Iterable[Mapping[str, Any]]
) -> Iterator[str]:
    """Acknowledged writes have a row in the history, refused ones have none."""
    made = {row['global_request_id'] for row in history}
    for one in operations:
        if one.kind not in WRITES or one.before == one.after or one.is_unknown:
            continue
        if one.is_acknowledged is not (one.request_id in made):
            there = 'has no row' if one.is_acknowledged else 'has a row'
            yield f'{one.kind} of {one.subject}, answered {one.status}, {there} in the history'


def _final_state(
    holds: Mapping[str, Mapping[str, int]], final: Mapping[str, Mapping[str, int]]
) -> Iterator[str]:
    expected: dict[str, dict[str, int]] = defaultdict(dict)
    for consumer, by_host in holds.items():
        for host, amount in by_host.items():
            expected[host][consumer] = amount
    for host, by_consumer in final.items():
        if by_consumer != expected[host]:
            yield f'{host} has {by_consumer}, and clients know of {expected[host]}'


def _replayed(
    history: Iterable[Mapping[str, Any]],
    capacities: Mapping[str, int],
    final: Mapping[str, Mapping[str, int]],
) -> Iterator[str]:
    """Capacity is exceeded at no moment, generations grow, and the rows end where all ended."""
    held: dict[str, dict[str, int]] = defaultdict(dict)
    generations: Counter[str] = Counter()
    for row in history:
        host, generation = row['uuid'], row['generation']
        if row['kind'] != 'provider' or host not in capacities:
            continue
        if generation is not None and generation <= generations[host] > 0:
            yield f'{host} has generation {generation} after {generations[host]}'
        generations[host] = max(generation or 0, generations[host])
        for consumer, amounts in row['state'].get('allocations', {}).items():
            held[host].pop(consumer, None)
            if amounts['resources']:
                held[host][consumer] = amounts['resources']['VCPU']
        if sum(held[host].values()) > capacities[host]:
            yield f'{host} has more than {capacities[host]}: {held[host]} at {row["at"]}'
    for host, by_consumer in final.items():
        if held[host] != by_consumer:
            yield f'the history of {host} ends with {held[host]}, and it has {by_consumer}'


def has_grown(before: int | None, after: int | None, operation: Operation) -> bool:
    """Tell if a consumer has the generation that it should have after an operation on it."""
    if before is None or after is None:
        # It was not there, or is not there any more.
        return True
    if operation.is_acknowledged:
        return after > before
    return after >= before if operation.is_unknown else after == before


def outages(
    operations: Iterable[Operation], faults: Iterable[Fault]
) -> dict[str, tuple[int, float, float]]:
    """For each kind of fault how often it was, the longest time without an acknowledged write, and
    the longest wait for an answer, in seconds."""
    writes = [one for one in operations if one.kind in WRITES]
    found: dict[str, tuple[int, float, float]] = {}
    for fault in faults:
        end = fault.ended + FELT
        times = sorted(
            one.ended for one in writes if one.is_acknowledged and fault.begun <= one.ended <= end
        )
        edges = [fault.begun, *times, end]
        gap = max(after - before for before, after in itertools.pairwise(edges))
        waits = [
            one.ended - one.begun for one in writes if one.begun < end and one.ended > fault.begun
        ]
        times_before, gap_before, wait_before = found.get(fault.name, (0, 0.0, 0.0))
        found[fault.name] = (
            times_before + 1, max(gap, gap_before), max([wait_before, *waits])
        )  # fmt: skip
    return found
