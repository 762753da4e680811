# SPDX-License-Identifier: Apache-2.0
"""The middleware of oslo.middleware, as this service configures it."""

import logging
from collections.abc import Iterable
from importlib import metadata
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from oslo_middleware import cors, healthcheck, http_proxy_to_wsgi
from oslo_middleware.healthcheck import pluginbase
from stevedore import extension

from placement import errors
from placement.conf import ConfigOpts
from placement.db.engine import readiness
from placement.db.engine.database import Database
from placement.db.schema.revisions import REMEDY


def proxy_headers(application: WSGIApplication, conf: ConfigOpts) -> WSGIApplication:
    """The application, with scheme, host and mount point of the headers of a trusted proxy.

    The object with the configuration is handed over: without it the library asks the one of
    oslo.config that is global to the process, which nobody has filled.
    """
    if not conf.oslo_middleware.enable_proxy_headers_parsing:
        return application
    wrapped: WSGIApplication = http_proxy_to_wsgi.HTTPProxyToWSGI(application, conf)
    return wrapped


def cross_origin(application: WSGIApplication, conf: ConfigOpts) -> WSGIApplication:
    """The application, open to the sites in ``[cors] allowed_origin``; as it was without any."""
    if not conf.cors.allowed_origin:
        return application
    wrapped: WSGIApplication = cors.CORS(application, conf)
    return wrapped


LOG = logging.getLogger('placement.middleware.health')

PATH = '/healthcheck'


class DatabaseCheck(pluginbase.HealthcheckBaseExtension):
    """Reports the service as healthy while its database answers."""

    def __init__(self, conf: ConfigOpts, database: Database) -> None:
        super().__init__(conf, {})
        self._database = database

    def healthcheck(self, server_port: int) -> pluginbase.HealthcheckResult:
        """Check the database; the reason for a failure goes to the log, not to the caller."""
        try:
            readiness.check_ready(self._database)
        except errors.DatabaseNotMigrated as error:
            LOG.warning('%s', error)
            return pluginbase.HealthcheckResult(
                False, f'The schema of the database is not that of this release. {REMEDY}'
            )
        except errors.DatabaseReadOnly as error:
            LOG.warning('%s', error)
            return pluginbase.HealthcheckResult(False, 'The database only reads.')
        except Exception as error:
            LOG.warning('The database does not answer: %s', error)
            return pluginbase.HealthcheckResult(False, 'The database does not answer.')
        return pluginbase.HealthcheckResult(True, 'The database answers.')


class Healthcheck(healthcheck.Healthcheck):
    """The health check of oslo.middleware with `DatabaseCheck` beside the configured backends.

    The database is always checked, so that no choice of ``[healthcheck] backends`` can hide that
    it is unreachable.
    """

    def __init__(self, application: WSGIApplication, conf: ConfigOpts, database: Database) -> None:
        super().__init__(application, conf)
        # oslo.middleware loads backends by the name of an entry point, with nothing but options
        # as arguments. This check takes the engines that the service itself uses, so it joins the
        # loaded backends as an object; stevedore's record of it wants an entry point nevertheless.
        name = 'placement_database'
        origin = metadata.EntryPoint(name, f'{__name__}:DatabaseCheck', self.NAMESPACE)
        check = DatabaseCheck(conf, database)
        self._backends.extensions.append(extension.Extension(name, origin, DatabaseCheck, check))


def answer_healthcheck(
    application: WSGIApplication, conf: ConfigOpts, database: Database
) -> WSGIApplication:
    """Return the application with `/healthcheck`, relative to its mount point: 200 or 503."""
    return at_path(PATH, Healthcheck(application, conf, database), application)


def at_path(path: str, special: WSGIApplication, application: WSGIApplication) -> WSGIApplication:
    """Return the application with another one at a path, relative to its mount point."""

    def choose(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        chosen = special if environ.get('PATH_INFO') == path else application
        return chosen(environ, start_response)

    return choose
