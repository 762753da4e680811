# SPDX-License-Identifier: Apache-2.0
"""Whether this worker can do its work, for load balancers, which have no token."""

import logging
from collections.abc import Iterable
from importlib import metadata
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from oslo_middleware import healthcheck
from oslo_middleware.healthcheck import pluginbase
from stevedore import extension

from placement.conf import ConfigOpts
from placement.db.engine import liveness
from placement.db.engine.api import Database

LOG = logging.getLogger(__name__)

PATH = '/healthcheck'


class DatabaseCheck(pluginbase.HealthcheckBaseExtension):
    """Finds the service healthy as long as its database answers."""

    def __init__(self, conf: ConfigOpts, database: Database) -> None:
        super().__init__(conf, {})
        self._database = database

    def healthcheck(self, server_port: int) -> pluginbase.HealthcheckResult:
        """The finding; what exactly is wrong is for the log, not for strangers."""
        try:
            liveness.check_answers(self._database)
        except Exception as error:
            LOG.warning('The database does not answer: %s', error)
            return pluginbase.HealthcheckResult(False, 'The database does not answer.')
        return pluginbase.HealthcheckResult(True, 'The database answers.')


class Healthcheck(healthcheck.Healthcheck):
    """The check of oslo.middleware, which asks the database and what ``[healthcheck]`` names.

    The database is asked whatever is configured, so that a file which takes a worker out of
    service (``backends = disable_by_file``) does not hide that it lacks its database.
    """

    def __init__(self, application: WSGIApplication, conf: ConfigOpts, database: Database) -> None:
        super().__init__(application, conf)
        name = 'placement_database'
        origin = metadata.EntryPoint(name, f'{__name__}:DatabaseCheck', self.NAMESPACE)
        check = DatabaseCheck(conf, database)
        self._backends.extensions.append(extension.Extension(name, origin, DatabaseCheck, check))


def answer_healthcheck(
    application: WSGIApplication, conf: ConfigOpts, database: Database
) -> WSGIApplication:
    """The application, with an answer of 200 or 503 at `/healthcheck` below its mount point."""
    health = Healthcheck(application, conf, database)

    def choose(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        chosen = health if environ.get('PATH_INFO') == PATH else application
        return chosen(environ, start_response)

    return choose
