# SPDX-License-Identifier: Apache-2.0
"""The middleware of oslo.middleware, as this service configures it."""

import functools
import logging
from collections.abc import Callable, Iterable
from importlib import metadata
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from oslo_middleware import cors, healthcheck, http_proxy_to_wsgi
from oslo_middleware.healthcheck import pluginbase
from stevedore import extension

from placement import errors
from placement.conf import ConfigOpts
from placement.db.schema.revisions import REMEDY
from placement.middleware import Middleware


def proxy_headers(conf: ConfigOpts) -> Middleware | None:
    """Return the middleware that takes scheme, host and mount point from a proxy's headers.

    It gets the configuration as an argument: otherwise it would read the global one of
    oslo.config, which this service leaves empty.
    """
    if not conf.oslo_middleware.enable_proxy_headers_parsing:
        return None
    return functools.partial(http_proxy_to_wsgi.HTTPProxyToWSGI, conf=conf)


def cross_origin(conf: ConfigOpts) -> Middleware | None:
    """Return the middleware that allows the sites in ``[cors] allowed_origin``, if any."""
    return functools.partial(cors.CORS, conf=conf) if conf.cors.allowed_origin else None


LOG = logging.getLogger('placement.middleware.health')

PATH = '/healthcheck'


class DatabaseCheck(pluginbase.HealthcheckBaseExtension):
    """Reports the service as healthy while its database answers."""

    def __init__(self, conf: ConfigOpts, check: Callable[[], object]) -> None:
        super().__init__(conf, {})
        self._check = check

    def healthcheck(self, server_port: int) -> pluginbase.HealthcheckResult:
        """Check the database; the reason for a failure goes to the log only."""
        try:
            self._check()
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


class AtPath:
    """The wrapped application with another one at a path, relative to its mount point."""

    def __init__(self, application: WSGIApplication, path: str, special: WSGIApplication) -> None:
        self._application = application
        self._path = path
        self._special = special

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        chosen = self._special if environ.get('PATH_INFO') == self._path else self._application
        return chosen(environ, start_response)


def with_healthcheck(
    application: WSGIApplication, conf: ConfigOpts, check: Callable[[], object]
) -> WSGIApplication:
    """Return the application with `/healthcheck`, relative to its mount point: 200 or 503.

    This is the health check of oslo.middleware, with `DatabaseCheck` in addition to the configured
    backends. `check` raises if the database cannot serve requests. It always runs, so that no
    choice of ``[healthcheck] backends`` can hide an unreachable database.
    """
    checked = healthcheck.Healthcheck(application, conf)
    # oslo.middleware loads backends by entry point and passes them options only. This check needs
    # the service's engines, so it is added as an object. stevedore still requires an entry point
    # in its record.
    name = 'placement_database'
    origin = metadata.EntryPoint(name, f'{__name__}:DatabaseCheck', checked.NAMESPACE)
    backend = DatabaseCheck(conf, check)
    checked._backends.extensions.append(extension.Extension(name, origin, DatabaseCheck, backend))
    return AtPath(application, PATH, checked)
