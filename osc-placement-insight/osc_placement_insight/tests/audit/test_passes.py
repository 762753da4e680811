# SPDX-License-Identifier: Apache-2.0
"""Changes while an audit reads are no faults."""

import dataclasses

import pytest

from osc_placement_insight.tests.audit import cases
from osc_placement_insight.tests.audit.cases import Build
from osc_placement_insight.tests.audit.changes import (
    Change,
    changes_in_nova,
    claims_again,
    gives_back,
    moves,
)
from osc_placement_insight.tests.audit.clouds import SERVER, Cloud


def claims(cloud: Cloud, server: str) -> None:
    cloud.claim(server, {next(iter(cloud.nova.hypervisors)): SERVER})


@pytest.mark.parametrize(
    ('build', 'change'),
    [
        (cases.leaked_by_a_deleted_server, gives_back),
        (cases.leaked_by_an_ended_migration, gives_back),
        (cases.server_without_allocations, claims),
        (cases.doubled, claims_again),
        (cases.doubled, changes_in_nova(is_deleted=True)),
        (cases.more_processors_than_the_flavor, changes_in_nova(task='rebuilding')),
        (cases.on_another_host, moves),
    ],
)
def test_what_changes_between_the_passes_is_not_reported(
    cloud: Cloud, build: Build, change: Change
) -> None:
    subject = cases.built(cloud, build)
    assert subject

    assert cloud.audit(lambda seconds: change(cloud, subject)) == []


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
