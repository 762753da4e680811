# SPDX-License-Identifier: Apache-2.0
"""The only place where the parts are joined (specification: http, "Layers")."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from wsgiref.types import WSGIApplication

from placement.conf import ConfigOpts
from placement.db.engine.database import Database
from placement.db.schema import revisions, standard_names
from placement.dispatch import Application
from placement.feed.keeper import SnapshotKeeper
from placement.insight.questions import Insight
from placement.middleware import (
    after_answer,
    body_limit,
    cross_origin,
    fault_barrier,
    health,
    identity,
    proxy_headers,
    request_log,
    request_method,
)
from placement.policy import Enforcer

Middleware = Callable[[WSGIApplication, ConfigOpts, Database], WSGIApplication]


def _identified(
    application: WSGIApplication, conf: ConfigOpts, _database: Database
) -> WSGIApplication:
    """The application behind the strategy that the operator chose."""
    if conf.api.auth_strategy == 'noauth2':
        return identity.NoAuth(application)
    return identity.keystone(application, conf)


# Outermost first.
MIDDLEWARE: tuple[Middleware, ...] = (
    lambda application, *_: request_method.RequestMethod(application),
    lambda application, conf, _: proxy_headers.proxy_headers(application, conf),
    lambda application, conf, _: request_log.RequestLog(
        application, conf.placement.slow_request_seconds
    ),
    lambda application, conf, _: body_limit.BodyLimit(application, conf),
    health.answer_healthcheck,
    lambda application, conf, _: cross_origin.cross_origin(application, conf),
    _identified,
    lambda application, *_: identity.ContextBuilder(application),
    lambda application, *_: fault_barrier.FaultBarrier(application),
)


def loadapp(config: ConfigOpts, project_name: str | None = None) -> WSGIApplication:
    """The service as a WSGI application, from a ready configuration.

    `project_name` is ignored (specification: configuration, "Entry points for Python"). Raises
    what the database raises when it cannot be reached, and `revisions.MissingSchemaError` when it
    has no tables. The connections to the database are closed when that happens, and when nothing
    refers to the application any more.
    """
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
    """As `loadapp`, for who made the database and closes its connections in the end."""
    if config.placement_database.sync_on_startup and not revisions.is_newest(database.engine):
        # Imported here because Alembic is large, and few starts find something to migrate.
        from placement.db.schema import migration

        migration.sync(database.engine)
    revisions.check(database.engine)
    standard_names.sync(database)
    snapshots = SnapshotKeeper(
        database,
        is_cached=config.placement.candidate_snapshot == 'cached',
        audit_interval=config.placement.candidate_snapshot_audit_interval,
    )
    insight = Insight.from_conf(config, database)
    application: WSGIApplication = Application(
        config, database, snapshots, Enforcer(config), insight
    )
    for middleware in reversed(MIDDLEWARE):
        application = middleware(application, config, database)
    if insight.unmet_demand is not None:
        return after_answer.AfterAnswer(application, insight.unmet_demand)
    return application
