# SPDX-License-Identifier: Apache-2.0
"""Checks of the database: connection, schema, writes, clock, and number of hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement.db.engine import failures, readiness
from placement.db.engine.causes import Cause
from placement.db.schema import revisions
from placement.doctor import connection
from placement.doctor.check import CheckResult, Deployment, failure, ok, warning

if TYPE_CHECKING:
    import sqlalchemy as sa

#: Default limit of nova's searches ([scheduler] max_placement_results).
NOVA_LIMIT = 1000

#: Maximum difference of clocks in seconds, which includes the time of a statement.
MAX_CLOCK_DIFFERENCE = 5


def check_connection(deployment: Deployment) -> CheckResult:
    """Connect to the database as the service does."""
    return _connection(deployment, 'connection')


def check_replica(deployment: Deployment) -> CheckResult | None:
    """Connect to the replica, if one is configured."""
    has_replica = deployment.conf.placement_database.slave_connection
    return _connection(deployment, 'slave_connection') if has_replica else None


def _connection(deployment: Deployment, option: str) -> CheckResult:
    url = deployment.conf.placement_database[option]
    shown = connection.shown(url)
    try:
        with connection.opened(deployment.conf, url):
            return ok(f'Connected to {shown}.')
    except connection.ERRORS as error:
        remedy = f'Start the server, or correct [placement_database] {option}.'
        if failures.cause_of(error) is Cause.DAMAGED:
            remedy = failures.RESTORE
        return failure(f'Cannot connect to {shown}: {failures.message_of(error)}', remedy)


def check_schema(deployment: Deployment) -> CheckResult:
    """Compare the revisions of both chains with the ones of this release."""
    with connection.opened(deployment.conf) as engine:
        return compare_revisions(engine)


def compare_revisions(engine: sa.Engine) -> CheckResult:
    """Fail unless the schema has the revisions of this release."""
    present = revisions.versions(engine)
    words = revisions.difference(present)
    if words is not None:
        return failure(words.removesuffix(revisions.REMEDY).strip(), revisions.REMEDY)
    pairs = zip(present, revisions.CHAINS, strict=True)
    return ok(', '.join(f'{revision} in {chain.table}' for revision, chain in pairs) + '.')


def check_writes(deployment: Deployment) -> CheckResult:
    """Try a write that changes nothing."""
    try:
        with connection.opened(deployment.conf) as engine:
            readiness.check_writable(engine)
    except connection.ERRORS as error:
        return failure(
            f'The database refuses to write: {failures.message_of(error)}',
            'Connect to the primary, and grant the account SELECT, INSERT, UPDATE and DELETE.',
        )
    return ok('The database takes writes.')


def check_clock(deployment: Deployment) -> CheckResult | None:
    """Compare the clocks of the server and of this machine."""
    with connection.opened(deployment.conf) as engine:
        ahead = connection.seconds_ahead(engine)
    if ahead is None:
        return None
    words = f'{abs(ahead):.1f} s {"ahead of" if ahead > 0 else "behind"} that of this machine'
    if abs(ahead) > MAX_CLOCK_DIFFERENCE:
        return warning(
            f'The clock of the database is {words}.',
            'Synchronise both clocks with NTP; otherwise lines of logs and rows do not match.',
        )
    return ok(f'{words}.')


def check_randomization(deployment: Deployment) -> CheckResult:
    """Compare the number of hosts with the limit of nova's searches."""
    with connection.opened(deployment.conf) as engine:
        hosts = connection.count_roots(engine)
    is_random = deployment.conf.placement.randomize_allocation_candidates
    if hosts > NOVA_LIMIT and not is_random:
        return warning(
            f'{hosts} root providers, and nova asks for {NOVA_LIMIT} candidates by default: '
            'simultaneous schedulers get the same hosts and refuse each other.',
            'Set [placement] randomize_allocation_candidates = true.',
        )
    order = 'random' if is_random else 'fixed'
    return ok(f'{hosts} root providers; the order of candidates is {order}.')
