# SPDX-License-Identifier: Apache-2.0
"""The only place where the parts are joined (specification: http, "Layers")."""

import contextlib
import weakref
from collections.abc import Callable, Iterator
from typing import NamedTuple
from wsgiref.types import WSGIApplication

from placement.conf import ConfigOpts
from placement.context import RequestContext
from placement.db.engine.database import Database
from placement.db.engine.engines import wait_for_database
from placement.db.schema import revisions, standard_names
from placement.dispatch import Application
from placement.feed import change_feed
from placement.feed.keeper import SnapshotKeeper
from placement.insight.questions import Insight
from placement.middleware import (
    after_answer,
    body_limit,
    fault_barrier,
    identity,
    libraries,
    request_log,
    ui,
)
from placement.middleware.http_metrics import HTTPMetrics
from placement.policies.enforcer import Enforcer


class Parts(NamedTuple):
    """The parts of the service that a middleware may need."""

    conf: ConfigOpts
    database: Database
    snapshots: SnapshotKeeper


Middleware = Callable[[WSGIApplication, Parts], WSGIApplication]


def _identified(application: WSGIApplication, parts: Parts) -> WSGIApplication:
    """Return the application behind the strategy that the operator chose."""
    if parts.conf.api.auth_strategy == 'noauth2':
        return identity.NoAuth(application)
    return identity.keystone(application, parts.conf)


def _counted(application: WSGIApplication, parts: Parts) -> WSGIApplication:
    """The application, whose requests are counted where the operator wants metrics."""
    recorder = parts.database.recorder
    return application if recorder is None else HTTPMetrics(application, recorder)


def _with_metrics(application: WSGIApplication, parts: Parts) -> WSGIApplication:
    """The application, with `/metrics` where the operator wants it."""
    recorder = parts.database.recorder
    if recorder is None or not parts.conf.metrics.under_api:
        return application
    # Imported here because it is large, and because most services have no use for it.
    from placement.metrics.exporter import endpoint
    from placement.metrics.exporter.gauges import Gauges

    gauges = Gauges(parts.conf, parts.database, parts.snapshots)
    answer = endpoint.Endpoint(recorder.directory, gauges)
    return libraries.at_path(endpoint.PATH, answer, application)


# Outermost first.
MIDDLEWARE: tuple[Middleware, ...] = (
    lambda application, _: body_limit.RequestMethod(application),
    _counted,
    lambda application, parts: libraries.proxy_headers(application, parts.conf),
    lambda application, parts: request_log.RequestLog(
        application, parts.conf.placement.slow_request_seconds
    ),
    lambda application, parts: body_limit.BodyLimit(application, parts.conf),
    lambda application, parts: libraries.answer_healthcheck(
        application, parts.conf, parts.database
    ),
    _with_metrics,
    lambda application, parts: ui.serve_page(application, parts.conf),
    lambda application, parts: libraries.cross_origin(application, parts.conf),
    _identified,
    lambda application, _: identity.ContextBuilder(application),
    lambda application, _: fault_barrier.FaultBarrier(application),
)


def loadapp(config: ConfigOpts, project_name: str | None = None) -> WSGIApplication:
    """Return the service as a WSGI application, from a ready configuration.

    `project_name` is ignored (specification: configuration, "Entry points for Python"). Raises
    what the database raises when it cannot be reached, and `revisions.MissingSchemaError` when it
    has no tables. The connections to the database are closed when that happens, and when nothing
    refers to the application any more.
    """
    if not config.placement_database.sync_on_startup:
        revisions.require_file(config.placement_database.connection)
    database = Database.from_conf(config)
    try:
        application = application_on(database, config)
    except BaseException:
        database.dispose()
        raise
    # Not at the end of the process: its connections end with it, and a thread may be using one.
    weakref.finalize(application, database.dispose).atexit = False
    return application


def application_on(database: Database, config: ConfigOpts) -> WSGIApplication:
    """Return the application as `loadapp` does, on a database that the caller closes."""
    change_feed.keep(database.engine, config.placement.change_feed_max_ids)
    if config.metrics.enabled:
        # Imported here because services without metrics need not have the library.
        from placement.metrics.recorder import Recorder

        database.count_with(Recorder(config.metrics.directory))
    options = config.placement_database
    if options.sync_on_startup and revisions.difference(revisions.versions(database.engine)):
        # Imported here because Alembic is large, and few starts find something to migrate.
        from placement.db.schema import migration

        migration.sync(database.engine)

    def prepare() -> None:
        revisions.check(database.engine)
        standard_names.sync(database)

    wait_for_database(prepare, options.max_retries, options.retry_interval)
    snapshots = SnapshotKeeper.from_conf(config, database)
    insight = Insight.from_conf(config, database)
    application: WSGIApplication = Application(
        config, database, snapshots, Enforcer(config), insight
    )
    parts = Parts(config, database, snapshots)
    for middleware in reversed(MIDDLEWARE):
        application = middleware(application, parts)
    if insight.tasks:
        return after_answer.AfterAnswer(application, *insight.tasks)
    return application


@contextlib.contextmanager
def context_of_command(config: ConfigOpts, action: str) -> Iterator[RequestContext]:
    """The context of a command that writes as a request does; `action` is for the history.

    Raises what the database raises when it cannot be reached, and `revisions.MissingSchemaError`
    when its tables are not those of this release.
    """
    revisions.require_file(config.placement_database.connection)
    with Database.from_conf(config) as database:
        revisions.require_newest(database.engine)
        change_feed.keep(database.engine, config.placement.change_feed_max_ids)
        context = RequestContext(database)
        insight = Insight.from_conf(config, database)
        context.attach(
            database, SnapshotKeeper(database), insight, allow_replica_read=False, action=action
        )
        yield context
