# SPDX-License-Identifier: Apache-2.0
"""Proofs of a record, against what the service says when all is over."""

from __future__ import annotations

import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from placement.tests.region.history import Fault, History
from placement.tests.region.record import Operation

#: Providers by uuid, each as the feed and the database show it: see `stored`.
Providers = Mapping[str, Mapping[str, Any]]
READ = 'read'
WRITES = ('claim', 'move', 'release')
# Seconds after the end of a fault in which it may still be felt.
FELT = 8
# Seconds after the end of a fault from which on it explains nothing.
MARGIN = 10
# Seconds that nothing may take without a fault, and that may pass without a write. A busy machine
# needs more: see `patience`.
SLOW = 6
STALL = 8
# Writes of a kind that are refused one after the other, where none is made.
TRIED = 6


class Calm(NamedTuple):
    """A time without faults, in seconds since the record began."""

    begun: float
    ended: float


def judge(history: History, patience: float = 1) -> list[str]:
    """The messages about the errors of a run.

    `patience` is how many times as long as on a quiet machine something may take.
    """
    found = [*history.violations, *_compared_in_turn(history.comparisons)]
    # The hosts are made before the clients begin.
    begun = min((one.begun for one in history.operations if one.kind != READ), default=0.0)
    calms = calms_between(history.faults, history.ended, begun)
    return found + list(
        check(
            history.operations,
            history.holds,
            history.changes,
            history.capacities,
            history.final,
            calms,
            patience,
        )
    )


def _compared_in_turn(comparisons: Sequence[str]) -> Iterator[str]:
    known = set[str]()
    for number, (at, before, after, copy) in enumerate(map(json.loads, comparisons), 1):
        for provider in {*copy} - {*before, *after} - known:
            # It may have been made and deleted between the two looks, while any client writes.
            if number < len(comparisons):
                known.add(provider)
                del copy[provider]
        known.update(before, after, copy)
        for line in (*compared(before, after, copy), *over_committed(after)):
            yield f'{at:.1f} s: {line}'


def bound(operations: Iterable[Operation]) -> tuple[int, float]:
    """Number of acknowledged writes, and the largest share of them that may have been wrong.

    Where none of `n` is found wrong, a share of more than 3/n would have shown itself with a
    probability of 95 %, were they alike and independent.
    """
    number = sum(one.is_acknowledged for one in operations if one.kind != READ)
    return number, min(1.0, 3 / number) if number else 1.0


def check(
    operations: Sequence[Operation],
    holds: Mapping[str, Mapping[str, int]],
    history: Sequence[Mapping[str, Any]] | None,
    capacities: Mapping[str, int],
    final: Mapping[str, Mapping[str, int]],
    calms: Sequence[Calm],
    patience: float = 1,
) -> Iterator[str]:
    """The messages about errors.

    `holds` are the amounts of consumers by host according to clients, `final` the amounts on hosts
    by consumer in the database, and `history` the rows of the change history, oldest first, or
    None if it may have gaps.
    """
    yield from _refusals(operations)
    yield from _disturbed(operations, calms, SLOW * patience)
    writes = [one for one in operations if one.kind != READ]
    for calm in calms:
        yield from _stalls(writes, calm, STALL * patience)
    yield from _final_state(holds, final)
    if history is not None:
        yield from _requests_in_history(operations, history)
        yield from _replayed(history, capacities, final)


def calms_between(faults: Iterable[Fault], end: float, begun: float = 0.0) -> list[Calm]:
    """The times from `begun` to the end in which no fault can be felt."""
    calms = list[Calm]()
    for fault in sorted(faults, key=lambda one: one.begun):
        if fault.begun > begun:
            calms.append(Calm(begun, fault.begun))
        begun = max(begun, fault.ended + MARGIN)
    return [*calms, Calm(begun, end)] if end > begun else calms


def _disturbed(
    operations: Iterable[Operation], calms: Sequence[Calm], slow: float
) -> Iterator[str]:
    """Requests that no fault explains: without an answer, or with a late one."""
    for one in operations:
        if not any(calm.begun <= one.begun and one.ended <= calm.ended for calm in calms):
            continue
        took = one.ended - one.begun
        if not one.status:
            yield f'{one.kind} at {one.where} has no answer, without a fault: {one.text}'
        elif took > slow:
            yield f'{one.kind} at {one.where} took {took:.1f} s without a fault'


def _stalls(writes: Sequence[Operation], calm: Calm, stall: float) -> Iterator[str]:
    """No write is made for long without a fault, or none of a kind that is often tried."""
    for kind in sorted({one.kind for one in writes}):
        of_kind = [one for one in writes if one.kind == kind]
        yield from _gaps(f'no {kind}', of_kind, calm, TRIED, stall)
    yield from _gaps('no write', writes, calm, 0, stall)


def _gaps(
    what: str, writes: Sequence[Operation], calm: Calm, tried: int, stall: float
) -> Iterator[str]:
    times = sorted(
        one.ended
        for one in writes
        if one.is_acknowledged and calm.begun <= one.ended <= calm.ended
    )
    for begun, ended in itertools.pairwise([calm.begun, *times, calm.ended]):
        if ended - begun <= stall:
            continue
        refused = sum(begun <= one.begun and one.ended <= ended for one in writes)
        if refused >= tried:
            yield f'{what} was acknowledged for {ended - begun:.1f} s without a fault'


def compared(before: Providers, after: Providers, copy: Providers) -> Iterator[str]:
    """Differences of a copy that caught up between two reads of the database.

    Values that are equal in both reads must be equal in the copy; generations never return.
    """
    for provider in sorted({*before, *after, *copy}):
        held, copied = after.get(provider), copy.get(provider)
        if before.get(provider) == held != copied:
            yield f'the follower has {copied} of {provider}, and the database {held}'


def over_committed(providers: Providers) -> Iterator[str]:
    """Capacities that are exceeded in the database."""
    for uuid, provider in providers.items():
        for name, used in provider['usages'].items():
            capacity = provider['inventories'].get(name, 0)
            if used > capacity:
                yield f'{uuid} has {used} of {name} in the database, and {capacity} of it'


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
        if one.kind == READ or one.before == one.after or one.is_unknown:
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
    """True if a consumer has the generation that it should have after an operation on it."""
    if before is None or after is None:
        # It was not there, or is not there any more.
        return True
    if operation.is_acknowledged:
        return after > before
    return after >= before if operation.is_unknown else after == before


class Outage(NamedTuple):
    """The longest time without an acknowledged write, and the longest wait for an answer to one,
    in seconds."""

    gap: float
    wait: float


def outages(
    operations: Iterable[Operation], faults: Iterable[Fault]
) -> dict[str, tuple[int, Outage, Outage]]:
    """For each kind of fault its number, and the outages of the workload and of the balancer.

    The workload is claims, moves and releases, sent to any instance. The balancer passes on
    writes of each kind.
    """
    writes = [one for one in operations if one.kind != READ]
    workload = [one for one in writes if one.kind in WRITES]
    balancer = [one for one in writes if one.where == 'balancer']
    found: dict[str, tuple[int, Outage, Outage]] = {}
    for fault in faults:
        times, before, before_it = found.get(fault.name, (0, Outage(0, 0), Outage(0, 0)))
        found[fault.name] = (
            times + 1,
            _longest(before, _outage(workload, fault)),
            _longest(before_it, _outage(balancer, fault)),
        )
    return found


def _longest(one: Outage, other: Outage) -> Outage:
    return Outage(max(one.gap, other.gap), max(one.wait, other.wait))


def _outage(writes: Sequence[Operation], fault: Fault) -> Outage:
    end = fault.ended + FELT
    times = sorted(
        one.ended for one in writes if one.is_acknowledged and fault.begun <= one.ended <= end
    )
    edges = [fault.begun, *times, end]
    waits = [
        one.ended - one.begun for one in writes if one.begun < end and one.ended > fault.begun
    ]
    gap = max(after - before for before, after in itertools.pairwise(edges))
    return Outage(gap, max(waits, default=0))
