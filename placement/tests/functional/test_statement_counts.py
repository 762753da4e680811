# SPDX-License-Identifier: Apache-2.0
"""Writes send the number of statements in the page about performance, with and without history.

The tests read its table, so an additional statement fails until it is documented.
"""

import dataclasses
import json

import pytest
import sqlalchemy as sa

from placement.db.engine.database import Database
from placement.microversions import NEWEST

from .fixtures import applications, clouds
from .fixtures.client import Client
from .fixtures.work import statements_of

WARM, CONSUMER = (f'dddddddd-0000-4000-8000-00000000000{number}' for number in range(2))
HOST = clouds.uuid_of('host')
PATH = f'/resource_providers/{HOST}'
FIGURES = applications.repository_path('doc') / 'source' / 'figures.json'
WRITES = ('claim', 'replace', 'release', 'reshape')


def database_of(engine: sa.Engine) -> str:
    """The name of a database in the table."""
    dialect = engine.dialect
    if getattr(dialect, 'is_mariadb', False):
        return 'MariaDB'
    return {'sqlite': 'SQLite', 'postgresql': 'PostgreSQL', 'mysql': 'MySQL'}[dialect.name]


def documented() -> dict[tuple[str, str], dict[str, int]]:
    """The statements of each write, by database and by whether the history is on."""
    heading, *rows = json.loads(FIGURES.read_text())['statements']['rows']
    return {
        (engine, history): dict(zip(heading[2:], map(int, counts), strict=True))
        for engine, history, *counts in rows
    }


@dataclasses.dataclass
class Writer:
    """A client, and the statements of the database of its service."""

    client: Client
    database: Database

    def count(self, method: str, path: str, body: object = None) -> int:
        """The number of statements that a successful request sends."""
        with statements_of(self.database.engine) as sent:
            answer = self.client.send(method, path, body, NEWEST)
        assert answer.status == 204, answer.text
        return len(sent)

    def generation(self) -> int:
        """The generation of the host."""
        found: int = self.client.send('GET', PATH, version=NEWEST).json['generation']
        return found


@pytest.mark.parametrize('history', ['on', 'off'])
def test_writes_send_as_many_statements_as_documented(
    service: applications.Service, client: Client, history: str
) -> None:
    clouds.build((clouds.Provider('host', {'VCPU': 8}),), client)
    options = {('history', 'enabled'): history == 'on'}
    with applications.serving(service.database.url, options) as worker:
        write = Writer(worker, worker.database)
        held = {HOST: {'VCPU': 1}}
        # Project, user and type exist then, as for most claims of a cloud.
        write.count('PUT', f'/allocations/{WARM}', clouds.claim(held))
        path = f'/allocations/{CONSUMER}'
        counts = {
            'claim': write.count('PUT', path, clouds.claim(held)),
            'replace': write.count('PUT', path, clouds.claim({HOST: {'VCPU': 2}}, 1)),
        }
        inventories = {'VCPU': {'total': 16}}
        of_host = {
            'resource_provider_generation': write.generation(),
            'inventories': inventories,
        }
        reshape = {
            'inventories': {HOST: of_host},
            'allocations': {CONSUMER: clouds.claim(held, 2)},
        }
        counts['reshape'] = write.count('POST', '/reshaper', reshape)
        counts['release'] = write.count('DELETE', path)

    assert counts == documented()[database_of(service.engine), history]
