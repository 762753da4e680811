# SPDX-License-Identifier: Apache-2.0
"""Changes while an audit reads are no faults."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from osc_placement_insight.tests.audit import cases
from osc_placement_insight.tests.audit.cases import Build
from osc_placement_insight.tests.audit.clouds import SERVER, Cloud
from osc_placement_insight.tests.audit.nova import Migration

#: The case, and what happens to its subject between the two passes.
Happening = tuple[Build, Callable[[Cloud, str], Any]]


def gives_back(cloud: Cloud, consumer: str) -> None:
    cloud.send('DELETE', f'/allocations/{consumer}')


def claims(cloud: Cloud, server: str) -> None:
    cloud.claim(server, {next(iter(cloud.nova.hypervisors)): SERVER})


def is_deleted(cloud: Cloud, server: str) -> None:
    cloud.nova.servers[server].is_deleted = True


def is_touched(cloud: Cloud, server: str) -> None:
    cloud.claim(server, cloud.amounts(server))


def moves(cloud: Cloud, server: str) -> None:
    cloud.nova.migrations['new'] = Migration(server, 'live-migration', 'queued', 'a', 'b', 'new')


def begins_a_task(cloud: Cloud, server: str) -> None:
    cloud.nova.servers[server].task = 'rebuilding'


HAPPENINGS: dict[str, Happening] = {
    'a deleted server gives back': (cases.leaked_by_a_deleted_server, gives_back),
    'a migration ends': (cases.leaked_by_an_ended_migration, gives_back),
    'a server claims': (cases.server_without_allocations, claims),
    'a doubled server is deleted': (cases.doubled, is_deleted),
    'a doubled server is touched': (cases.doubled, is_touched),
    'a misplaced server moves': (cases.on_another_host, moves),
    'a server begins a task': (cases.more_processors_than_the_flavor, begins_a_task),
}


@pytest.mark.parametrize('happening', HAPPENINGS.values(), ids=HAPPENINGS)
def test_what_changes_between_the_passes_is_not_reported(
    cloud: Cloud, happening: Happening
) -> None:
    build, happens = happening
    subject = cases.built(cloud, build)
    assert subject

    assert cloud.audit(lambda seconds: happens(cloud, subject)) == []


def test_a_server_that_is_created_while_nova_is_read_is_not_reported(cloud: Cloud) -> None:
    cloud.claim(early := cloud.new_uuid(), cloud.host('a').share)

    def appear(path: str) -> None:
        if path == '/os-migrations' and early not in cloud.nova.servers:
            server = cloud.nova.servers.pop(cloud.server('a', {}))
            cloud.nova.servers[early] = dataclasses.replace(server, uuid=early)

    cloud.nova.before_answer.append(appear)

    assert [one for one in cloud.audit() if one.subject == early] == []


def test_nothing_is_read_twice_where_nothing_is_suspicious(cloud: Cloud) -> None:
    cases.built(cloud, cases.ordinary_servers)
    paused: list[float] = []

    cloud.audit(paused.append)

    assert paused == []


def test_servers_are_judged_across_pages(cloud: Cloud) -> None:
    a, b = cloud.host('a'), cloud.host('b')
    cloud.nova.max_limit = 2
    doubled = [cloud.server('a', {**a.share, **b.share}) for _ in range(5)]

    found = cloud.audit()

    assert [finding.subject for finding in found] == doubled


def test_a_marker_that_is_purged_meanwhile_loses_no_server(cloud: Cloud) -> None:
    a = cloud.host('a')
    servers = [cloud.server('a', a.share) for _ in range(6)]
    cloud.nova.max_limit = 2

    def purge(path: str) -> None:
        # After the first page, of which this is the last.
        if cloud.nova.requests == 2:
            gives_back(cloud, cloud.nova.servers.pop(servers[1]).uuid)

    cloud.nova.before_answer.append(purge)

    assert cloud.audit() == []
    assert servers[1] not in cloud.nova.servers
