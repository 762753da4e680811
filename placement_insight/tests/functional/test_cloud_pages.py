# SPDX-License-Identifier: Apache-2.0
"""Pages of the cloud in bulk are each of one moment, whatever is written meanwhile."""

from typing import Any

import pytest
import sqlalchemy as sa

from placement.context import RequestContext
from placement.db.engine.database import Database
from placement.microversions import NEWEST
from placement.tests.functional.fixtures import applications, clouds
from placement.tests.functional.fixtures.clouds import uuid_of
from placement_insight.bulk import pages as cloud
from placement_insight.bulk.statements import SummedBy

HOSTS = ('host0', 'host1')


def test_a_position_beyond_all_ids_is_no_error(database: Database) -> None:
    context = RequestContext(database)
    for by in SummedBy:
        assert cloud.list_usage_sums(context, by, 10**18 - 1, 10) == cloud.Page([], False)


def used_of_providers(answer: Any) -> list[int]:
    for provider in answer['providers']:
        held = [one['resources']['VCPU'] for one in provider['allocations'].values()]
        assert sum(held) == provider['usages']['VCPU']
    return [provider['usages']['VCPU'] for provider in answer['providers']]


def used_of_trees(answer: Any) -> list[int]:
    return [tree['resources']['VCPU']['used'] for tree in answer['trees']]


def used_by_consumers(answer: Any) -> list[int]:
    (server,) = answer['consumers']
    # Each move is a generation of its own.
    held = server['allocations'][uuid_of(HOSTS[(server['consumer_generation'] + 1) % 2])]
    return [0, held['resources']['VCPU']]


@pytest.mark.parametrize(
    ('path', 'used'),
    [
        ('providers?include=inventories,usages,allocations', used_of_providers),
        ('providers?by=root', used_of_trees),
        ('consumers?', used_by_consumers),
    ],
)
def test_a_page_is_of_one_moment_whatever_commits_between_its_statements(
    url: str, path: str, used: Any
) -> None:
    """A server is moved from one host to the other and back."""
    insight = applications.insight_options('on')
    with applications.serving(url) as writer, applications.serving(url, insight) as reader:
        clouds.build(tuple(clouds.Provider(host, {'VCPU': 8}) for host in HOSTS), writer)
        moved: list[str] = []

        def move(*_statement: object) -> None:
            host = HOSTS[len(moved) % 2]
            claim = clouds.claim({uuid_of(host): {'VCPU': 3}}, len(moved) or None)
            answer = writer.send('PUT', f'/allocations/{uuid_of("server")}', claim, NEWEST)
            assert answer.status == 204, answer.text
            moved.append(host)

        move()
        sa.event.listen(reader.database.engine, 'after_cursor_execute', move)
        for _ in range(5):
            before = len(moved)
            answer = reader.send('GET', f'/insight/{path}', version=NEWEST)
            assert sorted(used(answer.json)) == [0, 3]
            assert len(moved) > before
