# SPDX-License-Identifier: Apache-2.0
"""Routes: the action of a method on a path, and the treatment of its requests."""

import contextlib
import dataclasses
from collections.abc import Callable

from placement.http.reply import Handler
from placement.http.service import Service
from placement.schemas.common import Schema


@dataclasses.dataclass(frozen=True, slots=True)
class Route:
    """A method on a path, and its action."""

    method: str
    path: str
    action: str
    # The reply of a GET is not JSON, so callers need not accept JSON.
    has_no_json: bool = False
    # Check the media types before the version is asked for a handler.
    body_before_version: bool = False
    # The status at versions before the one that introduced the route.
    status_before: int = 404
    # Authorise the caller for the project in the query, before the query is validated, instead of
    # for its own.
    names_project: bool = False
    # Never read from a replica, which may lag behind. Actions that write never do anyway.
    reads_primary: bool = False

    @property
    def is_public(self) -> bool:
        """True if no policy rule guards the route, as for the version document at the root."""
        return self.action == 'root.show'

    @property
    def replies_json(self) -> bool:
        """True if the route is a GET whose reply is JSON."""
        return self.method == 'GET' and not self.has_no_json

    @property
    def allows_replica_read(self) -> bool:
        """True if the action may read from a replica."""
        return self.method == 'GET' and not self.reads_primary


# Creates the context manager around the handler of a route; it may refuse the request.
Guard = Callable[[Service], contextlib.AbstractContextManager[None]]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class AddedRoute(Route):
    """A route of an extension, with its handler.

    It writes nothing, may be switched off, and never reads from a replica. It exists at all
    microversions or, with `like`, from the one that introduced that action of the core.
    """

    handler: Handler
    # The schemas of the body and of the query.
    body: Schema | None = None
    query: Schema | None = None
    like: str = 'root.show'
    # Derives the schema of its query from the schema of `like`, at each microversion.
    extends: Callable[[Schema], Schema] | None = None
    guard: Guard = lambda _service: contextlib.nullcontext()
    reads_primary: bool = True
