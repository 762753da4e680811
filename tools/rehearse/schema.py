# SPDX-License-Identifier: Apache-2.0
"""The schema there and back: what this service does to a copy, and how upstream takes it back."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from placement.db.statements import odd_rows
from placement.doctor.rows import remedy_of
from tools.rehearse.failure import CannotRehearse
from tools.rehearse.services import Program

MIGRATE = 'online_data_migrations'


class Step(NamedTuple):
    """A command on the copy, and how it went."""

    command: str
    result: str


def upgrade(ours: Program, url: str) -> list[Step]:
    """Bring a copy up to date for this service.

    :raises CannotRehearse: neither the schema nor the data can be migrated
    """
    steps: list[Step] = []
    reason = _run(steps, ours, url, 'db', 'sync')
    if reason:
        _run(steps, ours, url, 'db', MIGRATE)
        reason = _run(steps, ours, url, 'db', 'sync')
    if reason:
        raise CannotRehearse(f'this service cannot migrate the copy: {reason[:300]}')
    _run(steps, ours, url, 'upgrade', 'check')
    return steps


def go_back(upstream: Program, url: str) -> list[Step]:
    """Have upstream take over a copy that this service has served."""
    steps: list[Step] = []
    _run(steps, upstream, url, 'db', 'sync')
    _run(steps, upstream, url, 'upgrade', 'check')
    return steps


def _run(steps: list[Step], service: Program, url: str, *arguments: str) -> str:
    command = 'placement-status' if arguments[0] == 'upgrade' else 'placement-manage'
    reason = service.run(url, command, *arguments)
    steps.append(Step(f'{" ".join([command, *arguments])} of {service.name}', reason or 'ok'))
    return reason


Rows = Mapping[str, Sequence[tuple[object, ...]]]


def changed_tables(before: Rows, after: Rows) -> Iterator[tuple[str, int, int]]:
    """Iterate over the tables of upstream that changed, with numbers of rows removed and added."""
    for name, rows in before.items():
        old, new = {*map(repr, rows)}, {*map(repr, after.get(name, ()))}
        if old != new:
            yield name, len(old - new), len(new - old)


def find_odd_rows(url: str) -> list[tuple[str, int, str, str]]:
    """Return each kind of odd row, their number, one of them, and the remedy."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        found = odd_rows.count(connection)
    return [(kind, one.number, one.example, remedy_of(kind)) for kind, one in found.items()]
