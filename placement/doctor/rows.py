# SPDX-License-Identifier: Apache-2.0
"""A check of the rows: dangling references, circles, missing values, uuids in capital letters."""

from collections.abc import Mapping

from placement.db.statements import odd_rows
from placement.db.statements.odd_rows import MAX_COUNTED, Found
from placement.doctor import connection as database_connection
from placement.doctor.check import CheckResult, Deployment, ok, warning

_MOVE = (
    'PUT /resource_providers/{uuid} with its name and the parent_provider_uuid that it should '
    'have, or null, parents before children'
)
_MOVE_OUT = (
    'PUT /resource_providers/{uuid} of the newest microversion with its name and '
    'parent_provider_uuid: null, then with the parent that it should have'
)
_MIGRATE = 'run "placement-manage db online_data_migrations"'
_RESTORE = 'insert the missing row from a backup, or DELETE /allocations/{consumer uuid}'
_SET_UUID = 'run "placement-manage provider set-uuid" with the uuid as it is, and in lower case'
_LOWER = 'set consumers.uuid and allocations.consumer_id to lower(...) by SQL'
_SQL = 'delete these rows by SQL'

#: The remedy of each kind of odd row; `_SQL` for all others.
REMEDIES: Mapping[str, str] = {
    'providers whose parent does not exist': _MOVE,
    'providers whose root does not exist': _MOVE,
    'providers without a root': _MIGRATE,
    'providers with another root than their parent': _MOVE_OUT,
    'providers that are below themselves': _MOVE_OUT,
    'providers without a name': 'PUT /resource_providers/{uuid} with a name',
    'providers without a generation': 'set it to 0 by SQL',
    'providers whose uuid has capital letters': _SET_UUID,
    'consumers whose uuid has capital letters': _LOWER,
    'consumers without a record': _MIGRATE,
    'consumers whose project does not exist': _RESTORE,
    'consumers whose user does not exist': _RESTORE,
    'inventories of classes that do not exist': 'PUT the inventories of their providers',
}


def check_rows(deployment: Deployment) -> CheckResult:
    """Count the rows that the API cannot have written."""
    with database_connection.opened(deployment.conf) as engine, engine.connect() as connection:
        found = odd_rows.count(connection)
    if not found:
        return ok('Every row refers to rows that exist.')
    finding = '; '.join(_summary(kind, one) for kind, one in found.items())
    kinds: dict[str, list[str]] = {}
    for kind in found:
        kinds.setdefault(remedy_of(kind), []).append(kind)
    remedies = (f'For {" and ".join(of)}: {remedy}.' for remedy, of in kinds.items())
    return warning(f'Rows that no request has written: {finding}.', ' '.join(remedies))


def remedy_of(kind: str) -> str:
    """Return the remedy of a kind of odd row."""
    return REMEDIES.get(kind, _SQL)


def _summary(kind: str, found: Found) -> str:
    more = ' or more' if found.number == MAX_COUNTED else ''
    return f'{found.number}{more} {kind}, such as {found.example}'
