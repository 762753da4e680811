# SPDX-License-Identifier: Apache-2.0
"""The audit: two passes with a pause between them, and the findings of both.

Nova and placement cannot be read at one moment, and nova writes to both. So a server that is
being created, moved or deleted may seem wrong once. It is reported only if it seems wrong again
after a while, and neither its consumer in placement nor the server in nova has changed in between.
"""

from __future__ import annotations

import dataclasses
import time
from collections import defaultdict
from collections.abc import Callable, Iterable

from osc_placement_insight.audit import kinds, nova_state, placement_state
from osc_placement_insight.audit.finding import Finding
from osc_placement_insight.audit.model import Cloud, NovaState, PlacementState
from osc_placement_insight.compute import Compute, Tell
from osc_placement_insight.service import Service

#: Seconds between the two passes: nova deletes a server before its allocations, a moment later.
WAIT = 5.0


@dataclasses.dataclass(frozen=True)
class Audited:
    """The findings of an audit, and the numbers of objects that it read."""

    findings: list[Finding]
    counts: dict[str, int]


def audit(
    service: Service,
    compute: Compute | None,
    tell: Tell,
    wait: float = WAIT,
    sleep: Callable[[float], None] = time.sleep,
) -> Audited:
    """Find faults in placement, also compared with nova unless `compute` is None.

    `wait` is the number of seconds between the two passes.

    :raises osc_lib.exceptions.CommandError: placement or nova cannot be read
    """
    placement = placement_state.read(service, tell)
    nova = None if compute is None else nova_state.read(compute, tell)
    findings = _find(placement, nova)
    if findings:
        tell(f'waiting {wait:g} seconds to examine {len(findings)} suspicions again')
        sleep(wait)
        again = _read_again(compute, nova, findings, tell)
        findings = _confirmed(findings, _find(placement_state.read(service, tell), again))
    named = [_with_names(finding, placement) for finding in findings]
    return Audited(named, _counts(placement, nova))


def _find(placement: PlacementState, nova: NovaState | None) -> list[Finding]:
    if nova is None:
        return kinds.find(placement)
    return kinds.find_with_nova(Cloud(placement, nova))


def _read_again(
    compute: Compute | None, nova: NovaState | None, findings: Iterable[Finding], tell: Tell
) -> NovaState | None:
    if compute is None or nova is None:
        return None
    return nova_state.read_again(compute, nova, _suspects(findings, nova), tell)


def _suspects(suspicions: Iterable[Finding], nova: NovaState) -> list[str]:
    """The servers that nova has to be asked about again."""
    servers = set()
    for finding in suspicions:
        if finding.server is not None:
            servers.add(finding.server.uuid)
        elif finding.consumer is not None:
            migration = nova.migrations.get(finding.consumer.uuid)
            servers.add(finding.consumer.uuid if migration is None else migration.server)
    return sorted(servers)


def _confirmed(first: Iterable[Finding], second: Iterable[Finding]) -> list[Finding]:
    """The findings of the second pass that rest on what one of the first rested on."""
    before = defaultdict(list)
    for finding in first:
        before[finding.subject].append(finding.rests_on)
    return [finding for finding in second if finding.rests_on in before[finding.subject]]


def _with_names(finding: Finding, placement: PlacementState) -> Finding:
    held = {} if finding.consumer is None else finding.consumer.allocations
    uuids = {*held, *(finding.wanted or {})} & placement.providers.keys()
    names = {uuid: placement.providers[uuid].name for uuid in sorted(uuids)}
    return dataclasses.replace(finding, provider_names=names)


def _counts(placement: PlacementState, nova: NovaState | None) -> dict[str, int]:
    counts = {'providers': len(placement.providers), 'consumers': len(placement.consumers)}
    if nova is None:
        return counts
    judged = len(Cloud(placement, nova).settled_servers)
    return counts | {
        'servers': len(nova.servers),
        'servers not judged': len(nova.servers) - judged,
        'migrations': len(nova.migrations),
        'hypervisors': len(nova.hypervisors),
    }
