# SPDX-License-Identifier: Apache-2.0
"""What happens while an audit reads is no fault."""

from collections.abc import Callable
from typing import Any

import pytest

from osc_placement_insight.tests.audit import test_kinds
from osc_placement_insight.tests.audit.clouds import SERVER, Cloud
from osc_placement_insight.tests.audit.nova import Migration

#: What happens between the two passes over what a case builds.
Happening = tuple[Callable[[Cloud], list[str]], Callable[[Cloud, str], Any]]


def nothing(cloud: Cloud) -> list[str]:
    return [cloud.host('a')]


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
    'a deleted server gives back': (test_kinds.leaked_by_a_deleted_server, gives_back),
    'a migration ends': (test_kinds.leaked_by_an_ended_migration, gives_back),
    'a server claims': (test_kinds.server_without_allocations, claims),
    'a doubled server is deleted': (test_kinds.doubled, is_deleted),
    'a doubled server is touched': (test_kinds.doubled, is_touched),
    'a misplaced server moves': (test_kinds.on_another_host, moves),
    'a server begins a task': (test_kinds.more_processors_than_the_flavor, begins_a_task),
}


@pytest.mark.parametrize('happening', HAPPENINGS.values(), ids=HAPPENINGS)
def test_what_changes_between_the_passes_is_not_reported(
    cloud: Cloud, happening: Happening
) -> None:
    build, happens = happening
    (subject,) = build(cloud)

    assert cloud.audit(lambda seconds: happens(cloud, subject)) == []


def test_a_server_that_is_created_while_nova_is_read_is_not_reported(cloud: Cloud) -> None:
    a = cloud.host('a')
    cloud.claim(early := cloud.new_uuid(), {a: SERVER})

    def appear(path: str) -> None:
        if path == '/os-migrations' and early not in cloud.nova.servers:
            server = cloud.server('late', 'a', {})
            cloud.nova.servers[early] = server
            server.uuid = early

    cloud.nova.before_answer.append(appear)

    assert [one for one in cloud.audit() if one.subject == early] == []


def test_nothing_is_read_twice_where_nothing_is_suspicious(cloud: Cloud) -> None:
    test_kinds.ordinary_servers(cloud)
    paused: list[float] = []

    cloud.audit(paused.append)

    assert paused == []


def test_servers_are_judged_across_pages(cloud: Cloud) -> None:
    a, b = test_kinds.two_hosts(cloud)
    cloud.nova.max_limit = 2
    doubled = [cloud.server(str(n), 'a', {a: {'VCPU': 1}, b: {'VCPU': 1}}) for n in range(5)]

    found = cloud.audit()

    assert [one.subject for one in found] == [one.uuid for one in doubled]


def test_a_marker_that_is_purged_meanwhile_loses_no_server(cloud: Cloud) -> None:
    a = cloud.host('a')
    servers = [cloud.server(str(number), 'a', {a: SERVER}) for number in range(6)]
    cloud.nova.max_limit = 2

    def purge(path: str) -> None:
        # After the first page, of which this is the last.
        if cloud.nova.requests == 2:
            gives_back(cloud, cloud.nova.servers.pop(servers[1].uuid).uuid)

    cloud.nova.before_answer.append(purge)

    assert cloud.audit() == []
    assert servers[1].uuid not in cloud.nova.servers
