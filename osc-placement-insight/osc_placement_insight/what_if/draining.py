# SPDX-License-Identifier: Apache-2.0
"""A question about a drain, with what nova knows of those who have to move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from osc_placement_insight.compute import Compute
from osc_placement_insight.named_requests import ask_without_refused
from osc_placement_insight.service import Service
from osc_placement_insight.what_if import known, nova, plan, steps
from osc_placement_insight.what_if.chosen import Chosen
from osc_placement_insight.what_if.known import Known, Terms
from osc_placement_insight.what_if.plan import Plan
from osc_placement_insight.what_if.steps import Step

PATH = '/insight/drain'


class Drain(NamedTuple):
    """A plan, with the data from nova, and the statements about the servers.

    `refused` are the requests that the service does not take, with its reasons.
    """

    plan: Plan
    cloud: Known | None
    terms: Terms
    refused: Mapping[str, str]


def drain(
    service: Service, compute: Compute | None, chosen: Chosen, scenario: Sequence[Step] = ()
) -> Drain:
    """The plan for these to move; without nova where `compute` is None."""
    cloud = None if compute is None else _read(service, compute, chosen)
    terms = Terms() if cloud is None else known.terms(cloud, chosen.held(service))
    after = {'scenario': steps.bodies(scenario)} if scenario else {}

    def ask(wanted: Mapping[str, str]) -> Any:
        return service.ask_about(PATH, {**chosen.body, **after, **terms.body(wanted)})

    answer, refused = ask_without_refused(terms.requests, ask)
    return Drain(plan.of_answer(answer, cloud), cloud, terms, refused)


def _read(service: Service, compute: Compute, chosen: Chosen) -> Known:
    """Read the data of nova about the cloud and the servers to move."""
    cloud = known.read(service, compute)
    if chosen.roots:
        hosts = [host for host in map(cloud.host_of, chosen.roots) if host is not None]
        return cloud.with_servers(nova.list_servers(compute, service.tell, hosts))
    found = (nova.find_server(compute, uuid) for uuid in chosen.body['consumers'])
    return cloud.with_servers(server for server in found if server is not None)
