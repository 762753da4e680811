# SPDX-License-Identifier: Apache-2.0
"""Insight as an application of its own, on the database of another service."""

from __future__ import annotations

import dataclasses
import logging
import os
import re
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus
from wsgiref.types import WSGIApplication, WSGIEnvironment

from placement import conf as placement_conf
from placement import deploy, errors
from placement.conf import ConfigOpts
from placement.db.engine.database import Database
from placement.db.engine.engines import wait_for_database
from placement.db.mode import Mode
from placement.dispatch import Application
from placement.feed.keeper import SnapshotKeeper
from placement.http.microversion import Api
from placement.http.reply import Handler, Reply
from placement.http.request import Request
from placement.http.route import Route
from placement.http.searches import NONE, Searches
from placement.http.service import Service
from placement.middleware import loopback_hosts, wrapped
from placement.policies.enforcer import Enforcer
from placement.routes import surface_of
from placement_insight.beside import statements
from placement_insight.beside.copies import Copies, Copy, refuse_writes
from placement_insight.extension import EXTENSION
from placement_insight.questions import Insight
from placement_insight.routes import PATH

if TYPE_CHECKING:
    import webob

LOG = logging.getLogger(__name__)

# Apart from the directory of the service, whose configuration does not apply.
CONFIG_DIR = '/etc/placement-insight'

# The header with the age of an answer in whole seconds.
AGE_HEADER = 'openstack-placement-age'

# The parameter in links to next pages that names the copy of the first page.
MOMENT = 'moment'
_MOMENT = re.compile(f'(?:^|&){MOMENT}=([^&]*)')

# Actions that show nothing of the cloud, and actions that need only sums of allocations, unless
# the query includes `allocations`.
_OF_NO_MOMENT = frozenset({'root.show', 'insight.show', 'insight.names'})
_OF_SUMS = frozenset({'insight.explain', 'insight.capacity', 'insight.providers'})

_GENERATIONS = (
    'generations are as old as the answer: read them from the service itself before a write'
)

#: Reasons why questions are not answered here, and limitations of others.
NOTES: Mapping[str, str] = {
    'unmet_demand': 'another service answers the searches, and keeps none that found nothing',
    'promises': 'they are kept in a table, and nothing is written here',
    'changes': 'the service that writes the database keeps no feed of changes',
    'history': 'the service that writes the database keeps no history',
    'providers': _GENERATIONS,
    'consumers': _GENERATIONS,
}
OFF = frozenset({'unmet_demand', 'promises', 'changes', 'history'})


class UnusableDatabase(Exception):
    """The database cannot be read; the message is the reason, in one sentence."""


@dataclasses.dataclass(eq=False)
class Beside(Application):
    """The application, which answers each question from a copy of the cloud."""

    copies: Copies

    def _answer(self, environ: WSGIEnvironment, api: Api) -> webob.Response:
        path = environ.get('PATH_INFO', '')
        if path not in ('', '/', PATH) and not path.startswith(f'{PATH}/'):
            raise errors.NotFound(f'Only questions below {PATH} are answered here.')
        return super()._answer(environ, api)

    def _reply(self, route: Route, handler: Handler, request: Request) -> Reply:
        if route.action in _OF_NO_MOMENT:
            return super()._reply(route, handler, request)
        copy = self._copy(route, request.http.environ)
        request.context.attach(copy.database)
        insight = request.service.part(Insight).pinned(copy.at, {MOMENT: copy.moment})
        service = dataclasses.replace(
            request.service, database=copy.database, snapshots=copy.snapshots, parts=[insight]
        )
        reply = handler(dataclasses.replace(request, service=service))
        age = AGE_HEADER, str(int(self.copies.age(copy)))
        return dataclasses.replace(reply, headers=(*reply.headers, age))

    def _copy(self, route: Route, environ: WSGIEnvironment) -> Copy:
        """Return the copy that the query names, or the current one.

        The name is removed from the query, whose schema does not have it.
        """
        query = environ.get('QUERY_STRING', '')
        # Any occurrence of the word counts: at worst, consumers are copied without need.
        with_consumers = route.action not in _OF_SUMS or 'allocations' in unquote_plus(query)
        named = _MOMENT.search(query)
        if named is None:
            return self.copies.current(with_consumers)
        environ['QUERY_STRING'] = _MOMENT.sub('', query).removeprefix('&')
        return self.copies.named(named[1], with_consumers)


def load_configuration() -> ConfigOpts:
    """Load `placement.conf` of insight's own directory, and the environment.

    :raises placement_conf.RequiredOptError: there is no ``[placement_database] connection``
    :raises placement_conf.Error: the configuration is unusable
    """
    directory = os.environ.get('OS_PLACEMENT_CONFIG_DIR', '').strip() or CONFIG_DIR
    conf = placement_conf.load(environ={'OS_PLACEMENT_CONFIG_DIR': directory})
    keep_apart(conf, directory)
    return conf


def keep_apart(conf: ConfigOpts, directory: str) -> None:
    """Enable the page by default, and make paths of policy files relative to a directory.

    By default oslo.policy would find those of the service, in `/etc/placement`.
    """
    conf.set_default('enabled', True, 'ui')
    policy = conf.oslo_policy
    file, *directories = [
        os.path.join(directory, path).replace('$', '$$')
        for path in (policy.policy_file, *policy.policy_dirs)
    ]
    conf.set_override('policy_file', file, 'oslo_policy')
    conf.set_override('policy_dirs', directories, 'oslo_policy')


def loadapp(conf: ConfigOpts) -> WSGIApplication:
    """Return the application, given its configuration.

    :raises UnusableDatabase: it is SQLite, or its schema is of another release
    :raises DATABASE_ERRORS: it cannot be reached
    """
    database = _open(conf)
    try:
        options = conf.placement_database
        wait_for_database(
            lambda: check_schema(database), options.max_retries, options.retry_interval
        )
        warn_of_rights(database)
        application = application_on(database, conf)
    except BaseException:
        database.dispose()
        raise
    # Not at exit: a thread may still be using a connection.
    weakref.finalize(application, database.dispose).atexit = False
    return wrapped(application, [loopback_hosts.row(conf)])


def warn_of_rights(database: Database) -> None:
    """Log a warning if the database account may write."""
    with database.begin(Mode.READ) as connection:
        statements.forbid_writes(connection)
        if statements.may_write(connection):
            LOG.warning(
                'The account of the database may write. Nothing is written here, and an account '
                'that may only SELECT suffices.'
            )


def application_on(database: Database, conf: ConfigOpts) -> WSGIApplication:
    """Return the application on an open database, which the caller closes."""
    max_age = conf.insight.snapshot_max_age
    insight = Insight(database, Insight.list_enabled(conf) - OFF, notes=NOTES, max_age=max_age)
    searches = Searches(NONE)
    service = Service(conf, database, SnapshotKeeper(database), searches, [insight])
    surface = surface_of([EXTENSION])
    answered = [route for route in surface.routes if route.path.startswith(PATH)]
    answered += [route for route in surface.routes if route.is_public]
    application: WSGIApplication = Beside(
        service,
        Enforcer(conf),
        dataclasses.replace(surface, routes=answered),
        Copies(database, max_age),
    )
    rows = deploy.middleware(service, [EXTENSION], lambda: check_schema(database))
    return wrapped(application, rows)


def _open(conf: ConfigOpts) -> Database:
    """Open the database, or its replica where one is configured, with writes refused.

    :raises UnusableDatabase: it is SQLite
    """
    group = 'placement_database'
    url = conf.placement_database.slave_connection or conf.placement_database.connection
    if statements.is_sqlite(url):
        raise UnusableDatabase(
            'SQLite has no accounts that may only read: insight is run beside a service on MySQL, '
            'MariaDB or PostgreSQL.'
        )
    # A dollar sign is escaped: oslo.config substitutes `$name`.
    conf.set_override('connection', url.replace('$', '$$'), group)
    conf.set_override('slave_connection', None, group)
    return Database.from_conf(conf, refuse_writes)


def check_schema(database: Database) -> None:
    """Check the revision of the schema.

    :raises UnusableDatabase: it is of another release
    """
    with database.begin(Mode.READ) as connection:
        statements.forbid_writes(connection)
        complaint = statements.find_complaint(connection)
    if complaint is not None:
        raise UnusableDatabase(complaint)
