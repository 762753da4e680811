# SPDX-License-Identifier: Apache-2.0
"""Bulk reads of the whole cloud, compared with the requests that upstream needs for the same.

Upstream has no request for more than one provider's inventories, usages, traits, aggregates or
allocations: a dashboard sends 4N + 1 requests for N hosts, an exporter 3N + 1, an audit N + 1. In
large clouds they are measured for a part of the hosts and multiplied; the table says how many.
"""

from __future__ import annotations

import dataclasses
import statistics
import time
import urllib.parse
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

from benchmarks import clouds
from benchmarks.client import Client
from benchmarks.report import columns, significant
from benchmarks.services import Service
from placement.tests.functional.fixtures.clouds import claim
from placement.tests.large_clouds import PROJECT, USER, Cloud, uuid_of

NAME = 'cloud in bulk'
SIZES = (1_000, 10_000, 100_000, 130_000)
TRAITS = 50
ROUNDS = 5
# Maximum number of hosts read from upstream in all rounds together; in a smaller cloud all, once.
MAX_HOSTS_ASKED = 2_000
HOSTS_CHANGED = 100
SERVER = {'VCPU': 1, 'MEMORY_MB': 512}

LIST = '/resource_providers'
PAGE = 'page_limit=1000'


class Reader(NamedTuple):
    """A client that reads the whole cloud.

    It requests `path` from our service, page by page; from upstream `paths` once, and `parts` of
    each host. A path with `since=` is completed by the token of a bulk read; before it is
    requested, `changed` hosts change.
    """

    name: str
    path: str
    paths: tuple[str, ...] = (LIST,)
    parts: tuple[str, ...] = ()
    changed: int = 0

    @property
    def asked(self) -> tuple[str, ...]:
        """Its requests to upstream, as templates."""
        return self.paths + self.parts

    def paths_of(self, hosts: Sequence[int]) -> list[str]:
        """Its requests to upstream for these hosts."""
        return [f'{LIST}/{clouds.host(host)}/{part}' for host in hosts for part in self.parts]


EXPORTER = ('inventories', 'usages', 'traits')
CHANGES = f'/insight/changes?include=inventories,usages,traits&{PAGE}&since='
READERS = (
    Reader(
        'inventories, usages',
        f'/insight/providers?include=inventories,usages&{PAGE}',
        parts=('inventories', 'usages'),
    ),
    Reader(
        'exporter (traits too)',
        f'/insight/providers?include=inventories,usages,traits&{PAGE}',
        parts=EXPORTER,
    ),
    Reader(
        'dashboard (aggregates too)',
        f'/insight/providers?include=inventories,usages,traits,aggregates&{PAGE}',
        parts=(*EXPORTER, 'aggregates'),
    ),
    Reader('audit: consumers', f'/insight/consumers?{PAGE}', parts=('allocations',)),
    Reader(
        'usages of the project',
        '/insight/usages?by=project',
        paths=(f'/usages?project_id={PROJECT}&user_id={USER}',),
    ),
    Reader('changes: none', CHANGES, parts=EXPORTER),
    Reader(f'changes: {HOSTS_CHANGED} hosts', CHANGES, parts=EXPORTER, changed=HOSTS_CHANGED),
)  # fmt: skip


class Cost(NamedTuple):
    """The cost of answers: processor time of the worker, elapsed time, and size."""

    requests: float
    cpu_ms: float
    elapsed_ms: float
    megabytes: float


@dataclasses.dataclass(frozen=True)
class BulkResult:
    """One reader in a cloud of a size, and the number of hosts read from upstream."""

    reader: str
    size: int
    ours: Cost
    upstream: Cost
    hosts_asked: int


def sizes(chosen: Collection[int] | None, only: Sequence[str]) -> list[int]:
    """The sizes of clouds, where the words of --only ask for these reads; else none."""
    if not any(word in NAME for word in only):
        return []
    return [size for size in SIZES if chosen is None or size in chosen]


def cloud(size: int) -> Cloud:
    """Hosts with a consumer and fifty traits each."""
    return clouds.with_traits(size, TRAITS)


def measure_bulk(
    size: int, services: Sequence[Service], say: Callable[[str], None]
) -> Iterator[BulkResult]:
    """The cost of each reader on both services, which take turns."""
    ours, upstream = (_Asked(service) for service in services)
    parts = _parts_of(size)
    # What several readers ask of upstream is measured once.
    theirs: dict[tuple[str, ...], Cost] = {}
    ours.read(f'/insight/providers?{PAGE}')
    for reader in READERS:
        say(f'{reader.name} [{size}]')
        # Of upstream: what is asked once, and what one host costs.
        read, once, each = [], [], []
        is_known = reader.asked in theirs
        for hosts in parts:
            read.append(_read(ours, reader, hosts))
            if not is_known:
                once.append(upstream.ask(reader.paths))
                each.append(_multiplied(upstream.ask(reader.paths_of(hosts)), 1 / len(hosts)))
        if not is_known:
            theirs[reader.asked] = _added(_median(once), _multiplied(_median(each), size))
        hosts_asked = sum(map(len, parts)) if reader.parts else 0
        yield BulkResult(reader.name, size, _median(read), theirs[reader.asked], hosts_asked)
    ours.close()
    upstream.close()


def _parts_of(size: int) -> list[range]:
    """The hosts that upstream is asked about, in one part for each round."""
    step = max(1, size // MAX_HOSTS_ASKED)
    return [range(number * step, size, ROUNDS * step) for number in range(ROUNDS)]


def _read(ours: _Asked, reader: Reader, hosts: Sequence[int]) -> Cost:
    if not reader.path.endswith('since='):
        return ours.read(reader.path)
    token = ours.token()
    for host in hosts[: reader.changed]:
        ours.change(clouds.host(host))
    return ours.read(reader.path + token)


class _Asked:
    """A service that is asked, and what its answers cost."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._client = Client(service.port, limit=600)

    def close(self) -> None:
        self._client.close()

    def ask(self, paths: Sequence[str]) -> Cost:
        """The cost of all these answers."""
        return self._cost(lambda: [len(self._client.get(path).body) for path in paths])

    def read(self, path: str) -> Cost:
        """The cost of this page and all that follow it."""
        return self._cost(lambda: list(self._pages(path)))

    def token(self) -> str:
        """The token of the present."""
        token: str = self._client.get('/insight/providers?page_limit=1').json()['token']
        return token

    def change(self, host: str) -> None:
        """Claim something of a host, and release it."""
        consumer = f'/allocations/{uuid_of(host)}'
        self._client.send('PUT', consumer, claim({host: SERVER}))
        self._client.send('DELETE', consumer)

    def _pages(self, path: str) -> Iterator[int]:
        """The size of each page in bytes."""
        following: str | None = path
        while following is not None:
            answer = self._client.get(following)
            yield len(answer.body)
            following = _next_page(answer.json())

    def _cost(self, ask: Callable[[], list[int]]) -> Cost:
        cpu, begin = self._service.cpu_seconds(), time.perf_counter()
        lengths = ask()
        elapsed, cpu = time.perf_counter() - begin, self._service.cpu_seconds() - cpu
        return Cost(len(lengths), cpu * 1000, elapsed * 1000, sum(lengths) / 1e6)


def _next_page(answer: dict[str, Any]) -> str | None:
    links = {link['rel']: link['href'] for link in answer.get('links', ())}
    if 'next' not in links:
        return None
    parts = urllib.parse.urlsplit(links['next'])
    return f'{parts.path}?{parts.query}'


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost(*map(statistics.median, zip(*costs, strict=True)))


def _multiplied(cost: Cost, factor: float) -> Cost:
    return Cost(*(value * factor for value in cost))


def _added(one: Cost, other: Cost) -> Cost:
    return Cost(*map(sum, zip(one, other, strict=True)))


HEADINGS = (
    f'{NAME} [hosts]', 'requests', 'CPU ms', 'ms', 'MB',
    'upstream: requests', 'CPU ms', 'ms', 'MB', 'hosts asked', 'CPU ratio',
)  # fmt: skip
LEGEND = (
    f'Each host has a consumer and {TRAITS} traits. Upstream answers for one host at a time: '
    'it was asked about so many hosts, and what they cost was multiplied.'
)


def table(results: Sequence[BulkResult]) -> str:
    """A line for each reader and size."""
    lines: list[Sequence[str]] = [HEADINGS]
    for one in results:
        ratio = one.upstream.cpu_ms / one.ours.cpu_ms
        lines.append(
            (
                f'{one.reader} [{one.size}]', *_cells(one.ours), *_cells(one.upstream),
                str(one.hosts_asked or ''), significant(ratio),
            )
        )  # fmt: skip
    return f'{columns(lines)}\n\n{LEGEND}'


def _cells(cost: Cost) -> Sequence[str]:
    return (f'{cost.requests:.0f}', *map(significant, cost[1:]))
