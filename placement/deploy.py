# SPDX-License-Identifier: Apache-2.0
"""Assembles the service from its parts (specification: http, "Layers")."""

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterator, Sequence
from wsgiref.types import WSGIApplication

from placement import extension
from placement.conf import ConfigOpts
from placement.context import RequestContext
from placement.db.engine import readiness
from placement.db.engine.database import Database
from placement.db.engine.engines import wait_for_database
from placement.db.schema import revisions, standard_names
from placement.dispatch import Application
from placement.extension import Extension
from placement.feed.keeper import SnapshotKeeper
from placement.feed.sink import open_database
from placement.http.searches import Searches
from placement.http.service import Service
from placement.middleware import (
    Middleware,
    after_answer,
    body_limit,
    fault_barrier,
    identity,
    libraries,
    loopback_hosts,
    request_log,
    wrapped,
)
from placement.middleware.http_metrics import HTTPMetrics
from placement.policies.enforcer import Enforcer
from placement.routes import surface_of


def _metrics(service: Service, extensions: Sequence[Extension]) -> Middleware | None:
    """Return the middleware for `/metrics`, if enabled."""
    recorder = service.database.recorder
    if recorder is None or not service.conf.metrics.under_api:
        return None
    # Imported here because it is large, and disabled by default.
    from placement.feed.gauges import Gauges
    from placement.metrics import endpoint

    conf, database = service.conf, service.database
    added = [read for each in extensions for read in each.gauges(conf, database)]
    gauges = Gauges(conf, database, service.snapshots, added)
    answer = endpoint.Endpoint(recorder.directory, extension.list_metrics(), gauges)
    return functools.partial(libraries.AtPath, path=endpoint.PATH, special=answer)


def middleware(
    service: Service, extensions: Sequence[Extension], check: Callable[[], object]
) -> Sequence[Middleware | None]:
    """Return the middleware of a service, outermost first.

    `check` raises an error if the database cannot serve requests.
    """
    conf, options = service.conf, service.conf.placement
    recorder = service.database.recorder
    tasks = [service.searches, *(task for part in service.parts for task in part.tasks)]
    return (
        functools.partial(after_answer.AfterAnswer, tasks=tasks),
        body_limit.RequestMethod,
        None if recorder is None else functools.partial(HTTPMetrics, recorder=recorder),
        libraries.proxy_headers(conf),
        functools.partial(request_log.RequestLog, slow_seconds=options.slow_request_seconds),
        functools.partial(body_limit.BodyLimit, most=options.max_request_body_size),
        functools.partial(libraries.with_healthcheck, conf=conf, check=check),
        _metrics(service, extensions),
        *(row for each in extensions for row in each.middleware(conf)),
        libraries.cross_origin(conf),
        identity.row(conf),
        identity.ContextBuilder,
        fault_barrier.FaultBarrier,
    )


def loadapp(config: ConfigOpts, project_name: str | None = None) -> WSGIApplication:
    """Return the service as a WSGI application, from a loaded configuration.

    `project_name` is ignored (specification: configuration, "Entry points for Python"). The
    connections to the database are closed after an error, and with the last reference to the
    application.

    :raises revisions.MissingSchemaError: the database has no tables
    :raises Exception: the database cannot be reached; an error of `Database.from_conf`
    """
    if not config.placement_database.sync_on_startup:
        revisions.require_file(config.placement_database.connection)
    database = open_database(config)
    try:
        application = application_on(database, config)
    except BaseException:
        database.dispose()
        raise
    # Not at exit: connections end with the process, and a thread may still be using one.
    weakref.finalize(application, database.dispose).atexit = False
    return application


def load_for_web_server(config: ConfigOpts) -> WSGIApplication:
    """Return the application of `loadapp`, restricted to known hosts under noauth2."""
    return wrapped(loadapp(config), [loopback_hosts.row(config)])


def application_on(database: Database, config: ConfigOpts) -> WSGIApplication:
    """Return the application of `loadapp`, on a database that the caller closes."""
    extensions = extension.list_enabled(config)
    if config.metrics.enabled:
        # Imported here because the library is optional.
        from placement.metrics.recorder import Recorder

        database.count_with(Recorder(config.metrics.directory))
    options = config.placement_database
    if options.sync_on_startup and revisions.difference(revisions.versions(database.engine)):
        # Imported here because Alembic is large, and migrations at start are disabled by default.
        from placement.db.schema import migration

        migration.sync(database.engine)

    def prepare() -> None:
        """Use the database for the first time; the start waits until this succeeds."""
        revisions.check(database.engine)
        standard_names.sync(database)

    wait_for_database(prepare, options.max_retries, options.retry_interval)
    service = service_on(database, config, extensions)
    application: WSGIApplication = Application(service, Enforcer(config), surface_of(extensions))
    check = functools.partial(readiness.check_ready, database)
    return wrapped(application, middleware(service, extensions, check))


def service_on(database: Database, config: ConfigOpts, extensions: Sequence[Extension]) -> Service:
    """Return the parts that the handlers of a worker use."""
    parts = [part for each in extensions for part in each.worker_parts(config, database)]
    observers = [observer for part in parts for observer in part.observers]
    log_searches = config.placement.log_searches
    return Service(
        config,
        database,
        SnapshotKeeper.from_conf(config, database),
        Searches(log_searches, observers, database.recorder),
        parts,
    )


@contextlib.contextmanager
def context_of_command(config: ConfigOpts, action: str) -> Iterator[RequestContext]:
    """The context of a command that writes like a request; `action` is for the history.

    :raises revisions.MissingSchemaError: the schema is not that of this release
    :raises Exception: the database cannot be reached; an error of `Database.from_conf`
    """
    revisions.require_file(config.placement_database.connection)
    with open_database(config) as database:
        revisions.require_newest(database.engine)
        context = RequestContext(database)
        service = service_on(database, config, extension.list_enabled(config))
        context.attach(database, sinks=service.sinks(context, action))
        yield context
