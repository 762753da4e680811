# SPDX-License-Identifier: Apache-2.0
"""A cloud, its dump and a log for tests of the rehearsal, and differences to be found."""

import contextlib
import os
import pathlib
import sqlite3
import subprocess
from collections.abc import Sequence
from typing import Any

import pytest
import sqlalchemy as sa

from placement.microversions import NEWEST
from placement.tests.functional.fixtures import clouds
from placement.tests.functional.fixtures.client import Sender
from tools.rehearse import __main__ as rehearsal
from tools.rehearse import schema

HOST, NODE = clouds.uuid_of('host'), clouds.uuid_of('node')
CONSUMER = 'ABCDEF00-0000-4000-8000-000000000001'
NAME, SECRET = 'password=', 'sEcReT'

#: Reads that answer the same, and some that differ in a known way; one has a credential.
READS = (
    '/resource_providers',
    f'/resource_providers?in_tree={HOST}',
    *(
        f'/resource_providers/{uuid}{name}'
        for uuid in (HOST, NODE)
        for name in ('', '/inventories', '/traits', '/usages', '/allocations', '/aggregates')
    ),
    f'/allocations/{CONSUMER}',
    '/traits',
    '/traits?name=startswith:CUSTOM_A_',
    f'/traits?token={SECRET}',
    '/resource_classes',
    '/usages?project_id=project',
    '/allocation_candidates?resources=VCPU:1&required=CUSTOM_A_B',
    '/allocation_candidates?resources=VCPU:1&limit=1',
    '/allocation_candidates?resources=VCPU:1&resources1=MEMORY_MB:1&group_policy=none',
    '/allocation_candidates?resources=VCPU:1&limit=1%0A',
)

CLOUD = (
    clouds.Provider('host', {'MEMORY_MB': 4096}, ('CUSTOM_A_B',)),
    clouds.Provider('node', {'VCPU': 8}, ('CUSTOM_A_B', 'CUSTOM_AXB'), parent='host'),
    *(clouds.Provider(f'host{number}', {'VCPU': 8, 'MEMORY_MB': 4096}) for number in range(3)),
)

#: Changes of one copy, with the read that has to show each.
PLANTED = {
    'UPDATE inventories SET total = 9 WHERE resource_provider_id ='
    f" (SELECT id FROM resource_providers WHERE uuid = '{NODE}')": (
        f'GET /resource_providers/{NODE}/inventories (1.39)',
        'inventories.VCPU.total: upstream 8, this service 9',
    ),
    'DELETE FROM resource_provider_traits WHERE resource_provider_id ='
    f" (SELECT id FROM resource_providers WHERE uuid = '{HOST}')": (
        f'GET /resource_providers/{HOST}/traits (1.39)',
        'traits: only upstream has CUSTOM_A_B',
    ),
    f"UPDATE resource_providers SET name = '{NAME}{SECRET}' WHERE uuid = '{HOST}'": (
        f'GET /resource_providers/{HOST} (1.39)',
        f'name: upstream host, this service {NAME}***',
    ),
}

ODD = (
    f"UPDATE consumers SET uuid = '{CONSUMER}'",
    f"UPDATE allocations SET consumer_id = '{CONSUMER}'",
)


def dump(url: str, path: pathlib.Path) -> None:
    """Write a dump as an operator does."""
    parsed = sa.make_url(url)
    if parsed.get_backend_name() == 'sqlite':
        with contextlib.closing(sqlite3.connect(str(parsed.database))) as connection:
            path.write_text('\n'.join(connection.iterdump()))
        return
    name = str(parsed.database)
    if parsed.get_backend_name() == 'mysql':
        password = {'MYSQL_PWD': parsed.password} if parsed.password else {}
        command = [
            'mariadb-dump', f'--host={parsed.host}', f'--port={parsed.port or 3306}',
            f'--user={parsed.username}', '--databases', name,
        ]  # fmt: skip
    else:
        password = {}
        plain = parsed.set(drivername='postgresql').render_as_string(hide_password=False)
        command = ['pg_dump', '--create', f'--dbname={plain}']
    environ = {**os.environ, **password}
    path.write_bytes(
        subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environ).stdout
    )


def execute(url: str, statements: Sequence[str]) -> None:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(sa.text(statement))


def build(client: Sender, url: str) -> None:
    """Make a cloud with an odd row."""
    clouds.build(CLOUD, client)
    claim = clouds.claim({NODE: {'VCPU': 2}}, None, 'project', 'user')
    body = claim | {'consumer_type': 'INSTANCE'}
    path = f'/allocations/{CONSUMER.lower()}'
    assert client.send('PUT', path, body, version=NEWEST).status == 204
    execute(url, ODD)


def log_of(dumped: pathlib.Path) -> pathlib.Path:
    """Write the log of the reads beside a dump."""
    log = dumped.with_name('access.log')
    line = '10.0.0.1 - - [28/Nov/2026:18:00:00 +0000] "{} HTTP/1.1" 200 9 "-" "nova"\n'
    log.write_text(
        ''.join(line.format(f'GET /placement{path}') for path in READS)
        + line.format(f'DELETE /placement/resource_providers/{HOST}')
    )
    return log


def rehearse(dumped: pathlib.Path, upstream: str) -> tuple[int, str]:
    """The status of a rehearsal, and its report."""
    log = log_of(dumped)
    report = dumped.with_name('report')
    status = rehearsal.main([
        f'--dump={dumped}', f'--log={log}', f'--upstream={upstream}', f'--to={report}',
    ])  # fmt: skip
    text, html = (report.with_suffix(end).read_text() for end in ('.txt', '.html'))
    assert SECRET not in text + html
    return status, text


def row(report: str, title: str) -> str:
    """The last cell of the row of a report that begins with this title."""
    return next(line for line in report.splitlines() if line.startswith(title)).split()[-1]


def alter_copy_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant differences in the copy of this service, after it was migrated."""
    upgrade = schema.upgrade

    def alter(ours: Any, url: str) -> Any:
        steps = upgrade(ours, url)
        execute(url, [*PLANTED])
        return steps

    monkeypatch.setattr(schema, 'upgrade', alter)


def check_planted(report: str) -> None:
    """Assert that each planted difference is shown, and nothing else."""
    found = report.partition('Differences that are not known')[2].partition('Known differ')[0]
    for texts in PLANTED.values():
        for text in texts:
            assert text in found
    assert f'GET /resource_providers/{HOST}/inventories' not in found
    assert f'GET /resource_providers/{NODE}/traits' not in found
