# SPDX-License-Identifier: Apache-2.0
"""In any cloud an audit finds exactly the faults, and a repair mends exactly those."""

import pathlib
import tempfile
from collections.abc import Callable, Mapping
from typing import NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from osc_placement_insight.audit import repair
from osc_placement_insight.tests.audit import clouds, interruptions
from osc_placement_insight.tests.audit.clouds import SERVER, Cloud, Resources
from osc_placement_insight.tests.audit.nova import Nova

Allocations = Mapping[str, Resources]


class Host(NamedTuple):
    """A host of nova, which is a provider, maybe with another for its GPU."""

    name: str
    uuid: str
    gpu: str | None

    @property
    def share(self) -> Allocations:
        """What a server takes here; a GPU is in no flavor, and so makes no difference to one."""
        return {self.uuid: SERVER} | ({self.gpu: {'VGPU': 1}} if self.gpu else {})


class Built(NamedTuple):
    """What is wrong with a consumer, None for nothing, and what it should hold instead."""

    consumer: str
    kind: str | None
    mended: Allocations


Situation = Callable[[Cloud, Host, Host], Built]


def ordinary(cloud: Cloud, own: Host, other: Host) -> Built:
    server = cloud.server('ordinary', own.name, own.share)
    return Built(server.uuid, None, own.share)


def resizing(cloud: Cloud, own: Host, other: Host) -> Built:
    server = cloud.server('resizing', own.name, own.share, status='VERIFY_RESIZE')
    cloud.migration(
        server, 'resize', 'finished', other.name, own.name, allocations={other.uuid: SERVER}
    )
    return Built(server.uuid, None, own.share)


def evacuated(cloud: Cloud, own: Host, other: Host) -> Built:
    both = {**own.share, **other.share}
    server = cloud.server('evacuated', own.name, both)
    cloud.migration(server, 'evacuation', 'done', other.name, own.name)
    return Built(server.uuid, None, both)


def building(cloud: Cloud, own: Host, other: Host) -> Built:
    server = cloud.server('building', None, own.share, status='BUILD', task='spawning')
    return Built(server.uuid, None, own.share)


def doubled(cloud: Cloud, own: Host, other: Host) -> Built:
    server = cloud.server('doubled', own.name, {**own.share, **other.share})
    return Built(server.uuid, 'server-on-several-hosts', own.share)


def misplaced(cloud: Cloud, own: Host, other: Host) -> Built:
    server = cloud.server('misplaced', own.name, {other.uuid: SERVER})
    return Built(server.uuid, 'server-on-another-host', {own.uuid: SERVER})


def missing(cloud: Cloud, own: Host, other: Host) -> Built:
    server = cloud.server('missing', own.name, {})
    return Built(server.uuid, 'server-without-allocations', {own.uuid: SERVER})


def offloaded(cloud: Cloud, own: Host, other: Host) -> Built:
    server = cloud.server('offloaded', None, own.share, status='SHELVED_OFFLOADED')
    return Built(server.uuid, 'server-without-host', {})


def deleted(cloud: Cloud, own: Host, other: Host) -> Built:
    server = cloud.server('deleted', own.name, own.share, is_deleted=True)
    return Built(server.uuid, 'leaked-by-server', {})


def migrated(cloud: Cloud, own: Host, other: Host) -> Built:
    server = cloud.server('migrated', own.name, own.share)
    migration = cloud.migration(
        server, 'live-migration', 'completed', other.name, own.name, allocations=other.share
    )
    return Built(migration.uuid, 'leaked-by-migration', {})


def unheard_of(cloud: Cloud, own: Host, other: Host) -> Built:
    cloud.claim(consumer := cloud.new_uuid(), own.share)
    return Built(consumer, 'unknown-consumer', own.share)


def oversized(cloud: Cloud, own: Host, other: Host) -> Built:
    held = {own.uuid: {**SERVER, 'VCPU': 7}}
    server = cloud.server('oversized', own.name, held)
    return Built(server.uuid, 'differs-from-flavor', held)


SITUATIONS: list[Situation] = [
    ordinary,
    resizing,
    evacuated,
    building,
    doubled,
    misplaced,
    missing,
    offloaded,
    deleted,
    migrated,
    unheard_of,
    oversized,
]
#: Two different hosts of three.
PAIRS = [(one, other) for one in range(3) for other in range(3) if one != other]


def hosts(cloud: Cloud) -> list[Host]:
    sizes = dict.fromkeys(SERVER, 10**6)
    plain = [Host(name, cloud.host(name, sizes), None) for name in ('a', 'b')]
    with_gpu = cloud.host('c', sizes)
    gpu = cloud.provider('c_gpu', {'VGPU': 1000}, parent=with_gpu)
    return [*plain, Host('c', with_gpu, gpu)]


def touch(cloud: Cloud, one: Built) -> None:
    """Let somebody change a consumer, or the server that has none."""
    held = cloud.amounts(one.consumer)
    if held:
        cloud.claim(one.consumer, held)
    else:
        cloud.nova.servers[one.consumer].updated = 'later'


@given(
    st.lists(st.tuples(st.sampled_from(SITUATIONS), st.sampled_from(PAIRS)), max_size=8),
    st.sets(st.integers(0, 7)),
    st.lists(st.integers(0, 12), max_size=3),
    st.integers(1, 5),
)
@settings(
    max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
def test_faults_are_found_and_mended_and_nothing_else(
    situations: list[tuple[Situation, tuple[int, int]]],
    touched: set[int],
    kills: list[int],
    max_limit: int,
) -> None:
    with (
        clouds.running_cloud(Nova(max_limit)) as cloud,
        tempfile.TemporaryDirectory() as directory,
    ):
        known = hosts(cloud)
        built = [
            situation(cloud, known[own], known[other]) for situation, (own, other) in situations
        ]

        findings = cloud.audit()
        assert {(one.subject, one.kind) for one in findings} == {
            (one.consumer, one.kind) for one in built if one.kind
        }
        assert len(findings) == len({one.subject for one in findings})

        chosen = repair.proposals(findings)
        repaired = {one.subject for one in chosen}
        held = cloud.everything_held()
        for number, one in enumerate(built):
            if number in touched:
                touch(cloud, one)
                repaired.discard(one.consumer)

        journal = pathlib.Path(directory) / 'journal'
        for events in kills:
            interruptions.is_killed_after(events, cloud, chosen, journal)
        interruptions.repair(cloud, chosen, journal)

        mended = {one.consumer: one.mended for one in built if one.consumer in repaired}
        expected = {uuid: amounts for uuid, amounts in {**held, **mended}.items() if amounts}
        assert cloud.everything_held() == expected
        left = {(one.subject, one.kind) for one in cloud.audit()}
        assert left == {(one.subject, one.kind) for one in findings if one.subject not in repaired}
