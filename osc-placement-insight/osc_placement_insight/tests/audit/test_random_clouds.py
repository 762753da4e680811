# SPDX-License-Identifier: Apache-2.0
"""In any cloud an audit finds exactly the faults, and a repair mends exactly those."""

import pathlib
import tempfile
from collections.abc import Callable, Mapping

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from osc_placement_insight.audit import repair
from osc_placement_insight.tests.audit import cases, clouds, interruptions
from osc_placement_insight.tests.audit.cases import Build
from osc_placement_insight.tests.audit.clouds import SERVER, Cloud, Host
from osc_placement_insight.tests.audit.nova import Nova
from osc_placement_insight.tests.clouds import Resources
from placement.tests.thorough import examples

#: Cases that can stand beside each other in one cloud.
CASES: list[Build] = [
    cases.ordinary_servers,
    cases.resize_awaiting_confirmation,
    cases.evacuated_from_a_host_that_is_down,
    cases.without_a_host,
    cases.doubled,
    cases.on_another_host,
    cases.server_without_allocations,
    cases.offloaded_but_holding,
    cases.leaked_by_a_deleted_server,
    cases.leaked_by_an_ended_migration,
    cases.unknown_consumer,
    cases.more_processors_than_the_flavor,
]
#: What a consumer of the first of the two hosts holds after the repair of a kind.
MENDED: dict[str, Callable[[Host], Mapping[str, Resources]]] = {
    'server-on-several-hosts': lambda own: own.share,
    'server-on-another-host': lambda own: {own.uuid: SERVER},
    'server-without-allocations': lambda own: {own.uuid: SERVER},
    'server-without-host': lambda own: {},
    'leaked-by-server': lambda own: {},
    'leaked-by-migration': lambda own: {},
}
#: Two different hosts of three.
PAIRS = [(one, other) for one in range(3) for other in range(3) if one != other]


def hosts(cloud: Cloud) -> list[Host]:
    sizes = dict.fromkeys(SERVER, 10**6)
    a, b, c = (cloud.host(name, sizes) for name in 'abc')
    return [a, b, c._replace(gpu=cloud.provider('c_gpu', {'VGPU': 1000}, parent=c.uuid))]


def touch(cloud: Cloud, consumer: str) -> None:
    """Change a consumer, or the server that has none, as somebody else does."""
    if held := cloud.amounts(consumer):
        cloud.claim(consumer, held)
    else:
        cloud.nova.servers[consumer].updated = 'later'


@given(
    st.lists(st.tuples(st.sampled_from(CASES), st.sampled_from(PAIRS)), max_size=8),
    st.sets(st.integers(0, 7)),
    st.lists(st.integers(0, 12), max_size=3),
    st.integers(1, 5),
)
@settings(
    max_examples=examples(40),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
def test_faults_are_found_and_mended_and_nothing_else(
    chosen_cases: list[tuple[Build, tuple[int, int]]],
    touched: set[int],
    kills: list[int],
    max_limit: int,
) -> None:
    with (
        clouds.running_cloud(Nova(max_limit)) as cloud,
        tempfile.TemporaryDirectory() as directory,
    ):
        known = hosts(cloud)
        faults: dict[str, tuple[str, Host]] = {}
        for build, (own, other) in chosen_cases:
            subject = build(cloud, known[own], known[other])
            if subject and (kind := cases.CASES[build].kind):
                faults[subject] = (kind, known[own])

        findings = cloud.audit()
        found = sorted((finding.subject, finding.kind) for finding in findings)
        assert found == sorted((subject, kind) for subject, (kind, _own) in faults.items())

        chosen = repair.proposals(findings)
        repaired = {finding.subject for finding in chosen}
        held = cloud.everything_held()
        for number, subject in enumerate(faults):
            if number in touched:
                touch(cloud, subject)
                repaired.discard(subject)

        journal = pathlib.Path(directory) / 'journal'
        for events in kills:
            interruptions.is_killed_after(events, cloud, chosen, journal)
        interruptions.repair(cloud, chosen, journal)

        mended = {
            subject: MENDED[kind](own)
            for subject, (kind, own) in faults.items()
            if subject in repaired
        }
        expected = {uuid: amounts for uuid, amounts in {**held, **mended}.items() if amounts}
        assert cloud.everything_held() == expected
        left = sorted((finding.subject, finding.kind) for finding in cloud.audit())
        assert left == [(subject, kind) for subject, kind in found if subject not in repaired]
