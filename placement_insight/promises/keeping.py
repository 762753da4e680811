# SPDX-License-Identifier: Apache-2.0
"""Promises that are kept: searches are not offered the candidates that would take their room."""

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from placement import errors
from placement.context import RequestContext
from placement.db.engine.database import Database
from placement.feed.keeper import SnapshotKeeper
from placement.search.candidate import Candidate
from placement.search.candidates import find_candidates
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement_insight import counters
from placement_insight.failures import Failures
from placement_insight.promises.promise import Promise, list_promises, parse
from placement_insight.search.promised_room import (
    Guard,
    GuardedOffer,
    PromisedRoom,
    guards_of,
    refusal_of_request,
)

# Number of seconds after a failure to read promises in which those of before are kept.
RETRY_SECONDS = 10


class KeptPromise(NamedTuple):
    """A promise whose room is kept: its name, its number, and its room."""

    name: str
    promised: int
    room: PromisedRoom


class Known(NamedTuple):
    """The kept promises as of an epoch of the snapshots (`SnapshotKeeper.epoch`)."""

    epoch: object = None
    promises: Sequence[KeptPromise] = ()


class Keeping:
    """The kept promises of a worker, read again after each change that names no provider."""

    def __init__(self, database: Database, failures: Failures) -> None:
        self._database = database
        self._failures = failures
        self._known = Known()
        # The rooms of requests by query; replaced with the promises.
        self._rooms: dict[str, PromisedRoom] = {}
        self._failed_at: float | None = None

    def offer(
        self, snapshots: SnapshotKeeper, snapshot: Snapshot, asked: CandidateRequest
    ) -> GuardedOffer | None:
        """Return the offer of a search, None if it can break no promise. Raises nothing."""
        guards = self._guards(snapshots, snapshot, asked)
        if not guards:
            return None
        return GuardedOffer(snapshot, guards, self._undecided, self._failed)

    def withheld(
        self, snapshots: SnapshotKeeper, snapshot: Snapshot, asked: CandidateRequest
    ) -> Mapping[str, int]:
        """Return the number of hosts that each promise withholds from a search."""
        guards = self._guards(snapshots, snapshot, asked)
        # Nobody is offered these candidates, so none counts as undecided.
        offers = [GuardedOffer(snapshot, [one], lambda: None, self._failed) for one in guards]
        if not offers:
            return {}

        def admits(candidate: Candidate) -> bool:
            # Each is asked, also about what another withholds.
            decisions = [offer.admits(candidate) for offer in offers]
            return all(decisions)

        # Of several promises each looks at all candidates.
        closed = offers[0].closed if len(offers) == 1 else ()
        find_candidates(snapshot, asked, admits=admits, closed=closed)
        return {name: trees for offer in offers for name, trees in offer.by_promise.items()}

    def held_trees(self, snapshot: Snapshot, promise: Promise, request: CandidateRequest) -> int:
        """Return the number of trees of which a claim of all room would be withheld."""
        room, promised = self._rooms.get(promise.query) or PromisedRoom(request), promise.count
        return 0 if room.is_pooled(snapshot) else room.held_trees(snapshot, promised)

    def _guards(
        self, snapshots: SnapshotKeeper, snapshot: Snapshot, asked: CandidateRequest
    ) -> Sequence[Guard]:
        try:
            promises = self._promises(snapshots)
            return guards_of(snapshot, asked, promises) if promises else ()
        except Exception:
            self._failed()
            return ()

    def _promises(self, snapshots: SnapshotKeeper) -> Sequence[KeptPromise]:
        """Return the kept promises; those of before if they cannot be read now."""
        # The epoch is read before the promises, so that these are of that moment or later.
        epoch = snapshots.epoch
        known, failed_at = self._known, self._failed_at
        if known.epoch is epoch:
            return known.promises
        if failed_at is not None and time.monotonic() - failed_at < RETRY_SECONDS:
            return known.promises
        try:
            self._known = known = Known(epoch, self._read())
            self._failed_at = None
        except errors.ServiceUnavailable as error:
            self._failed_at = time.monotonic()
            self._failures.expected('Reading promises', str(error))
        except Exception:
            self._failed_at = time.monotonic()
            self._failures.unexpected('Reading promises')
        return known.promises

    def _read(self) -> Sequence[KeptPromise]:
        # Not in the context of the request, which may read a replica that lags behind.
        context = RequestContext(database=self._database, overwrite=False)
        kept, rooms = [], dict[str, PromisedRoom]()
        for one in list_promises(context):
            if not one.keep:
                continue
            try:
                room = self._rooms.get(one.query) or _new_room(one)
            except errors.BadRequest as error:
                # Written by hand, or by another release. The others are kept nevertheless.
                self._failures.expected(f'Keeping promise {one.name}', str(error))
                continue
            rooms[one.query] = room
            kept.append(KeptPromise(one.name, one.count, room))
        self._rooms = rooms
        return kept

    def _undecided(self) -> None:
        if self._database.recorder is not None:
            self._database.recorder.add(counters.PROMISES_UNDECIDED)

    def _failed(self) -> None:
        self._failures.unexpected('Keeping promises')


def _new_room(promise: Promise) -> PromisedRoom:
    request = parse(promise)
    refusal = refusal_of_request(request)
    if refusal is not None:
        raise errors.BadRequest(refusal)
    return PromisedRoom(request)
