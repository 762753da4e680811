# SPDX-License-Identifier: Apache-2.0
"""Cost of an audit and a repair: processor time of the client and of the service.

    python -m benchmarks.audit [servers]

Both run in this process, with the service on SQLite and a nova of the tests, whose time is
subtracted. A real nova takes longer for the same answers.
"""

from __future__ import annotations

import contextlib
import pathlib
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from wsgiref.types import StartResponse, WSGIEnvironment

from osc_placement_insight.audit import repair
from osc_placement_insight.tests.audit import clouds, interruptions
from osc_placement_insight.tests.audit.clouds import Cloud
from osc_placement_insight.tests.audit.nova import Nova

SERVERS_OF_A_HOST = 10
#: One server in this number was deleted but keeps its allocations, and one is on two hosts.
EVERY = 100


class TimedNova(Nova):
    """A nova that measures the processor time of its answers, in seconds."""

    seconds = 0.0

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        before = time.process_time()
        answer = super().__call__(environ, start_response)
        self.seconds += time.process_time() - before
        return answer


@contextlib.contextmanager
def measured(nova: TimedNova, what: str) -> Iterator[None]:
    """Print the time that the block takes."""
    before, of_nova = time.process_time(), nova.seconds
    yield
    took, of_nova = time.process_time() - before, nova.seconds - of_nova
    print(f'{what}: {took - of_nova:.1f} s, and {of_nova:.1f} s of nova')


def fill(cloud: Cloud, servers: int) -> None:
    """Make hosts and servers, a few of them wrong."""
    hosts = [cloud.host(f'host-{number}') for number in range(servers // SERVERS_OF_A_HOST)]
    owner = {'project_id': 'a-project', 'user_id': 'a-user', 'consumer_generation': None}
    for index, host in enumerate(hosts):
        claims = {}
        for number in range(SERVERS_OF_A_HOST):
            of_all = index * SERVERS_OF_A_HOST + number
            server = cloud.server(host.name, {}, is_deleted=of_all % EVERY == 0)
            held = {uuid: {'resources': amounts} for uuid, amounts in host.share.items()}
            if of_all % EVERY == 1:
                held[hosts[-1].uuid] = {'resources': {'DISK_GB': 1}}
            claims[server] = {'allocations': held, **owner}
        cloud.send('POST', '/allocations', claims, '1.37')


def main(servers: int) -> None:
    """Print the measurements with a number of servers."""
    nova = TimedNova()
    with clouds.running_cloud(nova) as cloud, tempfile.TemporaryDirectory() as directory:
        fill(cloud, servers)
        print(f'{servers} servers on {servers // SERVERS_OF_A_HOST} hosts')
        with measured(nova, 'audit'):
            findings = cloud.audit()
        chosen = repair.proposals(findings)
        with measured(nova, f'repair of {len(chosen)} of {len(findings)} findings'):
            interruptions.repair(cloud, chosen, pathlib.Path(directory, 'journal'))
        with measured(nova, 'audit'):
            left = cloud.audit()
        print(f'{len(left)} findings are left')


if __name__ == '__main__':
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
