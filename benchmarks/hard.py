# SPDX-License-Identifier: Apache-2.0
"""Searches that are hard: unlike hosts, packing, NUMA affinity, and near misses.

All hosts are in one cloud, generated from a seed. Each query but those of the unlike hosts is
confined to one host by `in_tree`, so that it is as hard as that host. Both services have the same
time for each answer. What is told is the share of queries that were decided: answered with
candidates, or by an empty answer that is complete.
"""

from __future__ import annotations

import dataclasses
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks.client import Answer, Client, TooSlow
from benchmarks.clouds import Cloud, Provider, inventory, uuid_of
from benchmarks.measure import percentile
from benchmarks.report import columns, significant
from benchmarks.services import Service

NAME = 'hard'
SEED = 20
QUERIES = 75
# Upstream ends few of them, and is started again after each that it does not: the first of each
# family have to do.
UPSTREAM_QUERIES = 5
LIMIT = 10
UNLIKE_HOSTS = 2_000
UNLIKE = 'CUSTOM_UNLIKE'


@dataclasses.dataclass(frozen=True)
class Query:
    """One search, and the hosts that it is about."""

    family: str
    path: str
    providers: tuple[Provider, ...] = ()


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The end of one search: its processor time, and whether candidates were found.

    `found` is None where that was not decided: in time, or within the budget of the search.
    """

    cpu_ms: float
    found: bool | None


@dataclasses.dataclass(frozen=True)
class HardResult:
    """The outcomes of one family: of all queries, and of the first of them for upstream."""

    family: str
    ours: tuple[Outcome, ...]
    upstream: tuple[Outcome, ...]

    def contradictions(self) -> int:
        """How many queries were decided differently."""
        return sum(
            None not in (one.found, other.found) and one.found != other.found
            for one, other in zip(self.ours, self.upstream, strict=False)
        )

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return dataclasses.asdict(self)


def is_chosen(only: Sequence[str]) -> bool:
    """Whether the words of --only ask for these searches; they are not part of other runs."""
    return any(word in NAME for word in only)


def queries(seed: int = SEED, count: int = QUERIES) -> list[Query]:
    """So many queries of each family; the same for the same seed."""
    generator = random.Random(seed)
    return [
        family(generator, f'{family.__name__} {number}')
        for family in (unlike, packing, affinity, near_miss)
        for number in range(count)
    ]


def cloud(chosen: Sequence[Query]) -> Cloud:
    """The hosts of these queries and of all unlike ones."""
    hosts = tuple(provider for query in chosen for provider in query.providers)
    return Cloud('hard searches', (*_unlike_hosts(), *hosts))


def _unlike_hosts() -> Iterator[Provider]:
    for number in range(UNLIKE_HOSTS):
        inventories = {
            'VCPU': inventory(32 + number % 37, reserved=number % 13),
            'MEMORY_MB': inventory(131_072 + number, reserved=512 + number % 101),
        }
        name = f'unlike-{number}'
        yield Provider(uuid_of(name), name, inventories, (UNLIKE,))


def unlike(generator: random.Random, name: str) -> Query:
    """An amount that some, few or none of the unlike hosts have room for."""
    cores, memory = generator.randint(1, 75), generator.randint(1, 133_500)
    resources = f'VCPU:{cores},MEMORY_MB:{memory}'
    return Query('unlike hosts', _path([f'resources={resources}&required={UNLIKE}']))


def packing(generator: random.Random, name: str) -> Query:
    """Groups that fill four fifths or more of network functions."""
    functions, size = generator.randint(4, 12), generator.choice([8, 16, 32])
    room = int(functions * size * generator.choice([0.8, 0.9, 0.95, 1.0]))
    amounts: list[int] = []
    while sum(amounts) + size // 5 < room:
        amounts.append(generator.randint(max(1, size // 5), size // 2))
    return _packed('packing', name, functions, size, amounts)


def near_miss(generator: random.Random, name: str) -> Query:
    """Groups that fit in sum, and leave one over however they are packed.

    A function of 10 holds 4 + 3 + 3, 4 + 4 or 3 + 3 + 3. Where `pairs` functions hold two fours
    and the others 4 + 3 + 3, no other packing holds as many fours and one three more.
    """
    functions = generator.randint(4, 10)
    pairs = generator.randint(2, functions // 2)
    fours, threes = functions + pairs, 2 * (functions - pairs) + 1
    return _packed('near misses', name, functions, 10, [4] * fours + [3] * threes)


def _packed(family: str, name: str, functions: int, size: int, amounts: Sequence[int]) -> Query:
    root = uuid_of(name)
    providers = [Provider(root, name, {})]
    for number in range(functions):
        child = f'{name} function {number}'
        ports = {'SRIOV_NET_VF': inventory(size)}
        providers.append(Provider(uuid_of(child), child, ports, parent=root))
    groups = [
        f'resources_{number}=SRIOV_NET_VF:{amount}&in_tree_{number}={root}'
        for number, amount in enumerate(amounts)
    ]
    return Query(family, _path(groups), tuple(providers))


def affinity(generator: random.Random, name: str) -> Query:
    """Sets of cores, a GPU and network functions, each set on one NUMA node."""
    root, nodes = uuid_of(name), generator.choice([2, 4, 8])
    providers = [Provider(root, name, {})]
    for node in range(nodes):
        providers.extend(_numa_node(generator, f'{name} node {node}', root))
    groups = []
    for number in range(generator.randint(2, nodes + 1)):
        groups += [
            f'resources_N{number}=VCPU:{generator.randint(2, 10)}&in_tree_N{number}={root}',
            f'resources_G{number}=PGPU:1&in_tree_G{number}={root}',
            f'resources_P{number}=SRIOV_NET_VF:{generator.randint(1, 4)}&in_tree_P{number}={root}',
            f'same_subtree=_N{number},_G{number},_P{number}',
        ]
    return Query('NUMA affinity', _path(groups), tuple(providers))


def _numa_node(generator: random.Random, name: str, root: str) -> Iterator[Provider]:
    node = uuid_of(name)
    cores = inventory(16, reserved=generator.randint(0, 6))
    yield Provider(node, name, {'VCPU': cores}, parent=root)
    for kind, count, units in (
        ('PGPU', generator.randint(0, 3), 1),
        ('SRIOV_NET_VF', generator.randint(0, 2), 8),
    ):
        for number in range(count):
            device = f'{name} {kind} {number}'
            yield Provider(uuid_of(device), device, {kind: inventory(units)}, parent=node)


def _path(groups: Sequence[str]) -> str:
    policy = '&group_policy=none' if len(groups) > 1 else ''
    return f'/allocation_candidates?{"&".join(groups)}{policy}&limit={LIMIT}'


def measure_hard(
    chosen: Sequence[Query], services: Sequence[Service], limit: float, say: Callable[[str], None]
) -> list[HardResult]:
    """The outcome of each query on our service, and of some on upstream, by family."""
    ours, upstream = services
    outcomes: dict[str, tuple[list[Outcome], list[Outcome]]] = {}
    for number, query in enumerate(chosen):
        say(f'{query.family}, query {number + 1} of {len(chosen)}')
        of_ours, of_upstream = outcomes.setdefault(query.family, ([], []))
        of_ours.append(_outcome(ours, query, limit))
        if len(of_upstream) < UPSTREAM_QUERIES:
            of_upstream.append(_outcome(upstream, query, limit))
    return [HardResult(family, tuple(a), tuple(b)) for family, (a, b) in outcomes.items()]


def _outcome(service: Service, query: Query, limit: float) -> Outcome:
    client, before = Client(service.port, limit), service.cpu_seconds()
    try:
        answer = client.get(query.path)
    except TooSlow:
        spent = service.cpu_seconds() - before
        # It would go on searching, and take processor time from the next query.
        service.restart()
        return Outcome(spent * 1000, None)
    finally:
        client.close()
    return Outcome((service.cpu_seconds() - before) * 1000, _found(answer))


def _found(answer: Answer) -> bool | None:
    if answer.json()['allocation_requests']:
        return True
    is_cut = answer.headers.get('openstack-placement-search') == 'incomplete'
    return None if is_cut else False


HEADINGS = (
    'hard searches', 'queries', 'fit',
    'ours: median', '99 %', 'worst ms', 'decided',
    'upstream: queries', 'median', '99 %', 'worst ms', 'decided', 'contradictions',
)  # fmt: skip


def table(results: Sequence[HardResult]) -> str:
    """A line for each family: processor time of one search, and the share decided."""
    lines: list[Sequence[str]] = [HEADINGS]
    for result in results:
        fit = sum(1 for one in result.ours if one.found)
        lines.append(
            (
                result.family, str(len(result.ours)), str(fit),
                *_cells(result.ours), str(len(result.upstream)), *_cells(result.upstream),
                str(result.contradictions()),
            )
        )  # fmt: skip
    return columns(lines)


def _cells(outcomes: Sequence[Outcome]) -> Sequence[str]:
    times = sorted(one.cpu_ms for one in outcomes)
    decided = sum(one.found is not None for one in outcomes) / len(outcomes)
    figures = (statistics.median(times), percentile(times, 0.99), times[-1])
    return (*map(significant, figures), f'{decided:.0%}')
