# SPDX-License-Identifier: Apache-2.0
"""The additions of an extension to the service, and the enabled extensions.

The core imports no extension: it finds them by the entry points of distributions.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from oslo_policy import policy

from placement.conf import ConfigOpts, installed
from placement.conf.installed import OptionGroups, UnusableExtensionError
from placement.metrics import catalog

if TYPE_CHECKING:
    from placement.db.engine.database import Database
    from placement.feed.gauges import ReadGauges
    from placement.feed.keeper import SnapshotKeeper
    from placement.http.route import AddedRoute
    from placement.http.service import WorkerPart
    from placement.middleware import Middleware
    from placement.schemas.common import Schema


def _nothing(*_parts: object) -> tuple[()]:
    return ()


@dataclasses.dataclass(frozen=True, slots=True)
class Fragments:
    """The parts of OpenAPI documents that describe the additions of an extension."""

    # Descriptions of query parameters, by name or by action and name.
    parameters: Mapping[str, str] = dataclasses.field(default_factory=dict)
    # Descriptions of members of bodies, likewise.
    members: Mapping[str, str] = dataclasses.field(default_factory=dict)
    # Query parameters of which all values count, by action and name.
    repeatable: frozenset[str] = frozenset()
    # Replies by module and name of the handler, as in `replies.yaml` of the core.
    replies: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    # Schemas of the values that replies have in angle brackets.
    values: Mapping[str, Schema] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """The additions of an extension to the service.

    Members that need more than declarations are functions, so that a command imports only the
    modules that it uses.
    """

    # Options by group; a group of the service gets additional options.
    options: OptionGroups = ()
    # Policy rules, which guard its routes.
    rules: Sequence[policy.RuleDefault] = ()
    # Metrics that its processes count.
    metrics: Sequence[catalog.Metric] = ()
    # A path below which requests without a microversion get the newest one.
    newest_below: str | None = None
    routes: Callable[[], Sequence[AddedRoute]] = _nothing
    # Its sinks, observers and tasks in one worker.
    worker_parts: Callable[[ConfigOpts, Database], Sequence[WorkerPart]] = _nothing
    # Middleware outside of authentication.
    middleware: Callable[[ConfigOpts], Sequence[Middleware]] = _nothing
    # Gauges of the cloud, read with each scrape.
    gauges: Callable[[ConfigOpts, Database], Sequence[ReadGauges]] = _nothing
    # The same, for `placement-metrics` only; valid until their context ends.
    exporter_gauges: Callable[
        [ConfigOpts, SnapshotKeeper], contextlib.AbstractContextManager[Sequence[ReadGauges]]
    ] = lambda *_parts: contextlib.nullcontext(())
    fragments: Callable[[], Fragments] = Fragments
    # Options that `placement-serve` enables, by group and name.
    trial_options: Sequence[tuple[str, str]] = ()
    # The path of its page; None if that is disabled.
    page: Callable[[ConfigOpts], str | None] = lambda _conf: None


def list_installed() -> list[Extension]:
    """List the installed extensions that can be loaded, enabled or not."""
    return [found for found in installed.find().loaded.values() if isinstance(found, Extension)]


def list_metrics() -> list[catalog.Metric]:
    """List the metrics that processes count, those of installed extensions included."""
    return [*catalog.METRICS, *(one for each in list_installed() for one in each.metrics)]


def list_enabled(conf: ConfigOpts) -> list[Extension]:
    """List the extensions that `[placement] extensions` names, by default all.

    :raises UnusableExtensionError: one of them is not installed, or cannot be loaded
    """
    loaded, failed = installed.find()
    names = conf.placement.extensions
    extensions = list[Extension]()
    for name in sorted(loaded.keys() | failed.keys()) if names is None else names:
        found = loaded.get(name)
        if not isinstance(found, Extension):
            reason = 'it is not installed' if found is None else f'{found!r} is no Extension'
            raise UnusableExtensionError(name, failed.get(name, reason))
        extensions.append(found)
    return extensions
