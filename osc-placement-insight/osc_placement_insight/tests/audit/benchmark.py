# SPDX-License-Identifier: Apache-2.0
"""Cost of an audit and a repair: processor time of the client and of the service.

    python -m osc_placement_insight.tests.audit.benchmark [servers]

Both run in this process, the service on SQLite, beside a nova of the tests whose time is told
apart. A real nova takes longer for the same answers.
"""

from __future__ import annotations

import itertools
import pathlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar
from wsgiref.types import StartResponse, WSGIEnvironment

from osc_placement_insight.audit import repair
from osc_placement_insight.tests.audit import clouds, interruptions
from osc_placement_insight.tests.audit.clouds import Cloud, Host
from osc_placement_insight.tests.audit.nova import Nova, Server, flavor

SERVERS_OF_A_HOST = 10
#: Every hundredth server was deleted and holds what it had, and every hundredth is on two hosts.
EVERY = 100
BATCH = 500

Answer = TypeVar('Answer')


class TimedNova(Nova):
    """A nova that measures the processor time of its answers, in seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        before = time.process_time()
        answer = super().__call__(environ, start_response)
        self.seconds += time.process_time() - before
        return answer


def measure(nova: TimedNova, what: str, function: Callable[[], Answer]) -> Answer:
    """Run a function and print its time."""
    before, of_nova = time.process_time(), nova.seconds
    answer = function()
    took, of_nova = time.process_time() - before, nova.seconds - of_nova
    print(f'{what}: {took - of_nova:.1f} s, and {of_nova:.1f} s of nova')
    return answer


def fill(cloud: Cloud, servers: int) -> None:
    """Make hosts and servers, a few of them wrong."""
    hosts = [cloud.host(f'host-{number}') for number in range(servers // SERVERS_OF_A_HOST)]
    for batch in batches(zip(range(servers), itertools.cycle(hosts), strict=False)):
        claims = dict(claim(cloud, number, host, hosts[0]) for number, host in batch)
        cloud.send('POST', '/allocations', claims, '1.37')


def claim(cloud: Cloud, number: int, host: Host, first: Host) -> tuple[str, dict[str, Any]]:
    """A server that nova knows, and the claim that has to be made for it."""
    made = Server(cloud.new_uuid(), f'server-{number}', flavor(), host.name)
    made.is_deleted = number % EVERY == 0
    cloud.nova.servers[made.uuid] = made
    held = {**host.share}
    if number % EVERY == 1:
        held[first.uuid] = {'DISK_GB': 1}
    return made.uuid, {
        'allocations': {uuid: {'resources': amounts} for uuid, amounts in held.items()},
        'project_id': 'a-project',
        'user_id': 'a-user',
        'consumer_generation': None,
    }


def batches(items: Iterable[Answer]) -> Iterator[list[Answer]]:
    """The items, as many at a time as one request has."""
    rest = iter(items)
    return iter(lambda: list(itertools.islice(rest, BATCH)), [])


def main(servers: int) -> None:
    """Print what is measured with so many servers."""
    nova = TimedNova()
    with clouds.running_cloud(nova) as cloud, tempfile.TemporaryDirectory() as directory:
        fill(cloud, servers)
        print(f'{servers} servers on {servers // SERVERS_OF_A_HOST} hosts')
        findings = measure(nova, 'audit', cloud.audit)
        chosen = repair.proposals(findings)
        journal = pathlib.Path(directory, 'journal')
        measure(
            nova,
            f'repair of {len(chosen)} of {len(findings)} findings',
            lambda: interruptions.repair(cloud, chosen, journal),
        )
        left = measure(nova, 'audit', cloud.audit)
        print(f'{len(left)} findings are left')


if __name__ == '__main__':
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
