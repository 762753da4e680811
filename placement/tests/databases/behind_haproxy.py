# SPDX-License-Identifier: Apache-2.0
"""Machines that run the service, each with a haproxy of its own before the nodes of a database."""

import contextlib
from collections.abc import Iterator, Sequence

from placement.tests.databases.acknowledged_claims import HEADERS, AcknowledgedClaims
from placement.tests.functional.fixtures import applications, databases
from placement.tests.functional.fixtures.client import Client
from placement.tests.region.databases import Cluster
from placement.tests.region.services import NodeBalancer
from placement.tests.servers import installation

MACHINES = 2


def prepare(cluster: Cluster) -> None:
    """Make the database of the service, and have haproxy."""
    installation.install_system_packages('haproxy')
    cluster.prepare()
    databases.migrate(cluster.nodes[0].service_url())


def service_at(url: str, cluster: Cluster) -> contextlib.AbstractContextManager[Client]:
    """A client of a service on the database of a URL, with what the sample asks for."""
    options = {('placement_database', 'connection_parameters'): cluster.parameters}
    return applications.serving(url, options, HEADERS)


@contextlib.contextmanager
def balancer(cluster: Cluster) -> Iterator[NodeBalancer]:
    """haproxy with the sample, once a node answers."""
    with installation.directory() as directory, NodeBalancer(directory, cluster) as haproxy:
        yield haproxy


@contextlib.contextmanager
def claiming(cluster: Cluster) -> Iterator[tuple[AcknowledgedClaims, Sequence[NodeBalancer]]]:
    """Clients that claim through all machines, none of which may be answered wrongly."""
    with contextlib.ExitStack() as stack:
        balancers = [stack.enter_context(balancer(cluster)) for _ in range(MACHINES)]
        machines = [stack.enter_context(service_at(one.url, cluster)) for one in balancers]
        claims = AcknowledgedClaims(machines)
        with claims.running():
            yield claims, balancers
