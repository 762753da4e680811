# SPDX-License-Identifier: Apache-2.0
"""Refused requests for whole devices although enough is free, by order of candidates.

    python -m benchmarks.devices [--seeds N] [--steps N] [--upstream PYTHON] [word...]
    python -m benchmarks.devices --cost PAIRS

Servers arrive and leave at random in a cloud that stays 60 to 85 % full. A scheduler chooses the
host with the most free memory, as nova does by default, or with the least, and claims its first
candidate. All requests for a whole device are counted, and the refused ones among them. The search
of the service runs without database and HTTP.

Words choose cases by name. `--upstream` has upstream search, and store the claims, over HTTP,
without and with `randomize_allocation_candidates`. `--cost` compares the cost of whole requests
instead, in process, in pairs.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from benchmarks import clouds, services
from benchmarks.client import Client
from benchmarks.clouds.rows import snapshot_of
from benchmarks.databases import temporary_database
from benchmarks.report import columns
from placement.microversions import NEWEST
from placement.search.candidates import find_candidates
from placement.search.model.request import CandidateRequest, Order, RequestGroup
from placement.tests.functional.fixtures import applications
from placement.tests.functional.fixtures.clouds import claim
from placement.tests.functional.fixtures.databases import migrate
from placement.tests.large_clouds import Cloud, load_as_rows

GPUS, VGPUS = 8, 4
LEAST_FULL, MOST_FULL = 0.6, 0.85
MEMORY = 1 << 10
HOSTS = 20
SCHEDULERS = 8
RANDOMIZE = 'OS_PLACEMENT__RANDOMIZE_ALLOCATION_CANDIDATES'


class Way(NamedTuple):
    """An order of candidates; a scheduler that takes any of the host gets what a shuffled answer
    would give it."""

    order: Order
    is_random: bool = False
    takes_any: bool = False


WAYS = {
    'by_id, as before': Way(Order.BY_ID),
    'shuffled, as before': Way(Order.BY_ID, takes_any=True),
    'packed': Way(Order.PACKED),
    'packed, random': Way(Order.PACKED, is_random=True),
    'spread': Way(Order.SPREAD),
}
WAYS_OF_UPSTREAM = {
    'upstream': Way(Order.BY_ID),
    'upstream, random': Way(Order.BY_ID, is_random=True),
}


class Flavor(NamedTuple):
    """Groups of amounts in addition to memory, the share of servers, and True if it needs a whole
    device. `same_subtree` holds the groups together."""

    groups: tuple[Mapping[str, int], ...]
    weight: int
    is_whole: bool = False
    same_subtree: bool = False

    @property
    def vgpus(self) -> int:
        """The units that it takes in all."""
        return sum(group.get('VGPU', 0) for group in self.groups)

    def request(self, way: Way, hosts: int) -> CandidateRequest:
        """The search for it in a cloud with a number of hosts."""
        groups = [
            RequestGroup(f'_{number}', amounts) for number, amounts in enumerate(self.groups)
        ]
        suffixes = frozenset(group.suffix for group in groups)
        return CandidateRequest(
            (RequestGroup(resources={'MEMORY_MB': MEMORY * self.vgpus}), *groups),
            isolate=True,
            same_subtree=(suffixes,) if self.same_subtree else (),
            # The first candidate of each host, and of a host itself where any may be taken.
            limit=None if way.takes_any else hosts,
            order=way.order,
            randomize=way.is_random,
        )

    def path(self) -> str:
        """The same search over HTTP, for all candidates."""
        groups = {
            f'resources_{number}': ','.join(f'{name}:{amount}' for name, amount in amounts.items())
            for number, amounts in enumerate(self.groups)
        }
        query = {'resources': f'MEMORY_MB:{MEMORY * self.vgpus}', **groups}
        query['group_policy'] = 'isolate'
        if self.same_subtree:
            query['same_subtree'] = ','.join(f'_{number}' for number in range(len(self.groups)))
        return f'/allocation_candidates?{urlencode(query)}'


def flavors(*sizes: tuple[Mapping[str, int], int]) -> tuple[Flavor, ...]:
    """Flavors of one group; those that take a device have the whole of it."""
    return tuple(Flavor((one,), weight, one['VGPU'] == VGPUS) for one, weight in sizes)


class Case(NamedTuple):
    """Flavors, and the hosts that they run on: NUMA nodes of each, and what a device has."""

    flavors: tuple[Flavor, ...]
    nodes: int = 0
    device: Mapping[str, int] = {'VGPU': VGPUS}
    probes: bool = False


CORES = {'VCPU': 2}
CASES = {
    'VGPU:1 alone': Case(flavors(({'VGPU': 1}, 1)), probes=True),
    'mixed sizes': Case(flavors(({'VGPU': 1}, 6), ({'VGPU': 2}, 3), ({'VGPU': 4}, 1))),
    'two groups isolated': Case(
        (
            Flavor(({'VGPU': 1},), 4),
            Flavor(({'VGPU': 1}, {'VGPU': 1}), 4),
            Flavor(({'VGPU': 4},), 1, is_whole=True),
        )
    ),
    'NUMA nodes': Case(
        (
            Flavor((CORES, {'VGPU': 1}), 6, same_subtree=True),
            Flavor((CORES, {'VGPU': 2}), 3, same_subtree=True),
            Flavor((CORES, {'VGPU': 4}), 1, is_whole=True, same_subtree=True),
        ),
        nodes=2,
    ),
    'two classes': Case(
        flavors(
            ({'VGPU': 1, 'CUSTOM_FRAMEBUFFER': 2}, 4),
            ({'VGPU': 1, 'CUSTOM_FRAMEBUFFER': 6}, 2),
            ({'VGPU': 2, 'CUSTOM_FRAMEBUFFER': 6}, 3),
            ({'VGPU': 4, 'CUSTOM_FRAMEBUFFER': 16}, 1),
        ),
        device={'VGPU': VGPUS, 'CUSTOM_FRAMEBUFFER': 16},
    ),
}
# Hosts, and the sign of the free memory by which one is chosen.
WEIGHERS = {
    'most free memory': (HOSTS, 1),
    'least free memory': (HOSTS, -1),
    'one host': (1, 1),
}


def hosts_of(case: Case, hosts: int) -> Cloud:
    """The hosts, with their devices beneath them or beneath their NUMA nodes."""
    root = {'MEMORY_MB': MEMORY * GPUS * VGPUS}
    return clouds.with_devices(hosts, GPUS, case.device, root, case.nodes)


Taken = Mapping[int, Mapping[str, int]]


class Candidate(NamedTuple):
    """The root provider of a candidate, and the amounts that it takes by provider and class."""

    host: int
    taken: Taken


class Servers:
    """Servers that come and go."""

    def __init__(self, case: Case, way: Way, hosts: int, sign: int, seed: int) -> None:
        self.case, self.way, self.hosts, self.sign = case, way, hosts, sign
        self.snapshot = snapshot_of(hosts_of(case, hosts))
        self.chance = random.Random(seed)
        self.drawing = random.Random(-seed)
        self.held: list[tuple[Flavor, Taken]] = []
        self.whole = self.refused = 0
        self.claims = self.lost = 0

    @property
    def full(self) -> float:
        """The part of all units that is taken."""
        taken = sum(flavor.vgpus for flavor, _ in self.held)
        return taken / (self.hosts * GPUS * VGPUS)

    def run(self, steps: int) -> tuple[int, int]:
        """The requests for a whole device in these steps, and the refused ones."""
        for _ in range(steps):
            self.step()
        return self.whole, self.refused

    def step(self) -> None:
        """Add a server, or remove one."""
        if self.full < LEAST_FULL or (self.full < MOST_FULL and self.chance.random() < 0.5):
            self.arrive([self.draw()])
        else:
            self.leave()

    def draw(self) -> Flavor:
        """A flavor, by the weights of the case."""
        known = self.case.flavors
        return self.chance.choices(known, [flavor.weight for flavor in known])[0]

    def leave(self) -> None:
        """Remove a random server."""
        _, taken = self.held.pop(self.chance.randrange(len(self.held)))
        self.change(taken, -1)

    def arrive(self, coming: Sequence[Flavor]) -> None:
        """Search for several servers at the same moment, then claim them one by one."""
        chosen = [(flavor, self.search(flavor)) for flavor in coming]
        if self.case.probes:
            self.search(Flavor(({'VGPU': VGPUS},), 0, is_whole=True))
        for flavor, candidate in chosen:
            if candidate is not None:
                self.claim(flavor, candidate)

    def search(self, flavor: Flavor) -> Candidate | None:
        """The candidate that a scheduler claims, or None."""
        found = self.find(flavor)
        self.whole += flavor.is_whole
        self.refused += flavor.is_whole and not found
        if not found:
            return None
        of_hosts: dict[int, list[Candidate]] = {}
        for candidate in found:
            of_hosts.setdefault(candidate.host, []).append(candidate)
        free = {host: self.free_memory(host) * self.sign for host in of_hosts}
        best = max(free.values())
        # nova chooses among hosts that weigh the same at random.
        host = self.drawing.choice([host for host, weight in free.items() if weight == best])
        return self.drawing.choice(of_hosts[host]) if self.way.takes_any else of_hosts[host][0]

    def find(self, flavor: Flavor) -> list[Candidate]:
        """The candidates for a flavor, in their order."""
        request = flavor.request(self.way, self.hosts)
        return [
            Candidate(
                found.providers[0].root_id,
                {one.id: amounts for one, amounts in found.allocations.items()},
            )
            for found in find_candidates(self.snapshot, request, self.drawing).candidates
        ]

    def free_memory(self, host: int) -> int:
        """The memory that is free on a host."""
        return sum(int(limits.capacity) - used for name, limits, used in
                   self.snapshot.provider(host).inventories if name == 'MEMORY_MB')  # fmt: skip

    def claim(self, flavor: Flavor, candidate: Candidate) -> None:
        """Claim a candidate, unless others were faster."""
        self.claims += 1
        for provider_id, amounts in candidate.taken.items():
            for name, limits, used in self.snapshot.provider(provider_id).inventories:
                if used + amounts.get(name, 0) > limits.ceiling:
                    self.lost += 1
                    return
        self.change(candidate.taken, 1)
        self.held.append((flavor, candidate.taken))

    def change(self, taken: Taken, sign: int) -> None:
        """Add to what is used of providers."""
        changed = {}
        for provider_id, amounts in taken.items():
            changed[provider_id] = {
                name: used + sign * amounts.get(name, 0)
                for name, _, used in self.snapshot.provider(provider_id).inventories
            }
        self.snapshot = self.snapshot.with_used(changed)


class ServersAtUpstream(Servers):
    """Servers whose candidates are found, and whose claims are stored, by upstream."""

    def __init__(self, client: Client, *given: Any) -> None:
        super().__init__(*given)
        self.client = client
        self.consumers: dict[int, str] = {}

    def run(self, steps: int) -> tuple[int, int]:
        """The same, after which no server is left."""
        counted = super().run(steps)
        while self.held:
            self.leave()
        return counted

    def find(self, flavor: Flavor) -> list[Candidate]:
        """The candidates of upstream."""
        found = []
        for request in self.client.get(flavor.path()).json()['allocation_requests']:
            taken, host = {}, 0
            for name, part in request['allocations'].items():
                provider = self.snapshot.find_by_uuid(name)
                assert provider is not None
                taken[provider.id], host = part['resources'], provider.root_id
            found.append(Candidate(host, taken))
        return found

    def change(self, taken: Taken, sign: int) -> None:
        """Claim or release, and count it here as well."""
        super().change(taken, sign)
        if sign < 0:
            self.client.send('DELETE', f'/allocations/{self.consumers.pop(id(taken))}')
            return
        consumer = self.consumers[id(taken)] = str(uuid.uuid4())
        held = {self.snapshot.provider(one).uuid: amounts for one, amounts in taken.items()}
        self.client.send('PUT', f'/allocations/{consumer}', claim(held))


@contextlib.contextmanager
def upstream_with(cloud: Cloud, python: str, is_random: bool) -> Iterator[Client]:
    """A client of upstream that has a cloud."""
    with contextlib.ExitStack() as stack:
        directory = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(temporary_database('sqlite', 'devices', directory, None))
        service = services.Service('upstream', python, url, directory)
        stack.callback(service.stop)
        # The start creates the tables.
        service.start()
        load_as_rows(url, cloud)
        service.start({RANDOMIZE: str(is_random)})
        client = Client(service.port)
        stack.callback(client.close)
        yield client


Parts = Sequence[tuple[int, int]]


def share(parts: Parts) -> str:
    """The refused part of the requests: the sums over seeds, and the 95 % confidence interval."""
    asked, refused = (sum(one) for one in zip(*parts, strict=True))
    shares = [100 * part / whole for whole, part in parts if whole]
    error = 1.96 * statistics.stdev(shares) / math.sqrt(len(shares)) if len(shares) > 1 else 0
    return f'{refused} of {asked} ({100 * refused / max(asked, 1):.1f} % ± {error:.1f})'


def refusals(seeds: int, steps: int, words: Sequence[str], python: str | None) -> None:
    """Print a line for each case and each weigher, with a column for each order."""

    def runs(name: str, weigher: str, way: Way) -> Parts:
        case, (hosts, sign) = CASES[name], WEIGHERS[weigher]
        given = [(case, way, hosts, sign, seed) for seed in range(1, seeds + 1)]
        if python is None:
            return [Servers(*one).run(steps) for one in given]
        with upstream_with(hosts_of(case, hosts), python, way.is_random) as client:
            return [ServersAtUpstream(client, *one).run(steps) for one in given]

    chosen = [
        (name, weigher)
        for name in CASES
        for weigher in WEIGHERS
        if not words or any(word in f'{name}, {weigher}' for word in words)
    ]
    show(('case', 'host'), WAYS if python is None else WAYS_OF_UPSTREAM, chosen, runs)


def collisions(seeds: int, steps: int) -> None:
    """Print how many claims of simultaneous schedulers are refused."""

    def runs(weigher: str, way: Way) -> Iterator[tuple[int, int]]:
        for seed in range(1, seeds + 1):
            servers = Servers(CASES['mixed sizes'], way, *WEIGHERS[weigher], seed)
            for _ in range(steps // SCHEDULERS):
                servers.arrive([servers.draw() for _ in range(SCHEDULERS)])
                while servers.full > (LEAST_FULL + MOST_FULL) / 2:
                    servers.leave()
            yield servers.claims, servers.lost

    show(('claims refused',), WAYS, [(weigher,) for weigher in WEIGHERS], runs)


def show(
    headings: Sequence[str],
    ways: Mapping[str, Way],
    rows: Sequence[Sequence[str]],
    runs: Callable[..., Iterable[tuple[int, int]]],
) -> None:
    """Print a table, line by line and as a whole; `runs` has the parts for a row and a way."""
    lines: list[Sequence[str]] = [(*headings, *ways)]
    for row in rows:
        lines.append((*row, *(share(list(runs(*row, way))) for way in ways.values())))
        print(*lines[-1], sep=' | ', flush=True)
    print(columns(lines))


def used_hosts(hosts: int, gpus: int) -> Cloud:
    """Hosts with a number of GPUs, each with different usage."""
    chance = random.Random(gpus)
    return clouds.with_devices(
        hosts, gpus, {'VGPU': VGPUS}, {'VCPU': 64}, used=lambda *_: chance.randrange(VGPUS)
    )


def cost(pairs: int, hosts: int = 1000) -> None:
    """Print the processor time of whole requests in milliseconds, for `by_id` and `packed`."""
    lines: list[Sequence[str]] = [('GPUs of a host', 'request', 'by_id', 'packed', 'packed takes')]
    one = '/allocation_candidates?resources=VCPU:1,VGPU:1'
    two = ('/allocation_candidates?resources=VCPU:1&resources1=VGPU:1&resources2=VGPU:1'
           '&group_policy=isolate')  # fmt: skip
    for gpus, path in ((8, one), (16, one), (64, one), (8, two)):
        with contextlib.ExitStack() as stack:
            directory = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
            database = temporary_database('sqlite', 'devices', directory, None)
            url = stack.enter_context(database)
            migrate(url)
            load_as_rows(url, used_hosts(hosts, gpus))
            # One service has both orders: two would differ by where their clouds are in memory.
            service = stack.enter_context(applications.serving(url))
            for limit in (10, 1000):
                times: list[list[float]] = [[], []]
                for _ in range(pairs):
                    for order, taken in zip((Order.BY_ID, Order.PACKED), times, strict=True):
                        service.configuration.set_override(
                            'order_within_tree', order.value, 'placement'
                        )
                        begin = time.process_time()
                        service.send('GET', f'{path}&limit={limit}', version=NEWEST)
                        taken.append((time.process_time() - begin) * 1000)
                before, after = map(statistics.median, times)
                ratio = statistics.median(b / a for a, b in zip(*times, strict=True))
                groups = 'two isolated' if 'isolate' in path else 'one'
                lines.append((
                    str(gpus), f'{groups}, limit={limit}', f'{before:.1f}', f'{after:.1f}',
                    f'{100 * (ratio - 1):+.1f} %',
                ))  # fmt: skip
                print(*lines[-1], sep=' | ', flush=True)
    print(columns(lines))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks.devices', description=__doc__)
    add = parser.add_argument
    add('words', nargs='*', metavar='word', help='choose cases by name')
    add('--seeds', type=int, default=20, help='runs of each case (%(default)s)')
    add('--steps', type=int, default=900, help='servers that come or go in a run (%(default)s)')
    add('--upstream', metavar='PYTHON', type=os.path.abspath, help='ask upstream, by its Python')
    add('--cost', type=int, metavar='PAIRS', help='compare the cost of whole requests')
    options = parser.parse_args(arguments)
    if options.cost:
        cost(options.cost)
    else:
        refusals(options.seeds, options.steps, options.words, options.upstream)
        if not (options.words or options.upstream):
            collisions(options.seeds, options.steps)


if __name__ == '__main__':
    main(sys.argv[1:])
