# SPDX-License-Identifier: Apache-2.0
"""The parts of the service that handlers work with."""

import dataclasses
from collections.abc import Sequence
from typing import Protocol, TypeVar

from placement.conf import ConfigOpts
from placement.context import RequestContext
from placement.db.changes import Sink
from placement.db.engine.database import Database
from placement.feed.keeper import SnapshotKeeper
from placement.http.searches import Observer, Searches
from placement.objects.allocation_candidate import OfferOf


class Task(Protocol):
    """Work of a worker between answers; see `middleware.after_answer`."""

    @property
    def is_due(self) -> bool:
        """True if there is work to do."""

    def flush(self) -> None:
        """Do the work. Raises nothing."""


class WorkerPart:
    """The part of an extension in one worker; subclasses override the members they need."""

    #: Observers of searches without candidates.
    observers: Sequence[Observer] = ()
    #: Filters of candidates, asked with each search.
    offers: Sequence[OfferOf] = ()
    #: Tasks to run after an answer was sent.
    tasks: Sequence[Task] = ()

    def sinks(self, context: RequestContext, action: str) -> Sequence[Sink]:
        """Sinks for the changes of one request; `action` is its name."""
        return ()


Part = TypeVar('Part', bound=WorkerPart)


@dataclasses.dataclass(frozen=True, slots=True)
class Service:
    """The configuration of a worker, its database, its snapshots, its searches, and the parts of
    its extensions."""

    conf: ConfigOpts
    database: Database
    snapshots: SnapshotKeeper
    searches: Searches
    parts: Sequence[WorkerPart] = ()

    def part(self, kind: type[Part]) -> Part:
        """The part of an enabled extension, by class."""
        return next(part for part in self.parts if isinstance(part, kind))

    @property
    def offers(self) -> list[OfferOf]:
        """The filters of candidates of all parts."""
        return [offer for part in self.parts for offer in part.offers]

    def sinks(self, context: RequestContext, action: str) -> list[Sink]:
        """Sinks for the changes of one request; `action` is its name."""
        return [sink for part in self.parts for sink in part.sinks(context, action)]
