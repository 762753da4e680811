# SPDX-License-Identifier: Apache-2.0
"""Gauges of the cloud from one snapshot: sums by resource class, aggregates, providers."""

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence

from prometheus_client.core import GaugeMetricFamily, Metric

from placement.search.model.capacity import Capacity
from placement.search.model.kind import DISABLED_TRAIT
from placement.search.model.snapshot import Snapshot

# Suffixes of the names of sums, and their descriptions, for resource classes and aggregates.
_SUMS = (
    ('inventory', 'Sum of the totals of all inventories'),
    ('reserved', 'Sum of what is reserved of all inventories'),
    ('capacity', 'Sum of the capacities: total without reserved, times the allocation ratio'),
    ('used', 'Sum of what is allocated'),
)
_OVER_CAPACITY = (
    'placement_inventories_over_capacity',
    'Inventories of which more is allocated than their capacity.',
)

# The names, labels and descriptions of openstack-exporter.
_PER_PROVIDER = (
    ('openstack_placement_resource_total', 'Total of an inventory.'),
    ('openstack_placement_resource_reserved', 'What is reserved of an inventory.'),
    ('openstack_placement_resource_allocation_ratio', 'Allocation ratio of an inventory.'),
    ('openstack_placement_resource_usage', 'What is allocated of an inventory.'),
)


def families(
    names: Iterable[tuple[str, str]],
    labels: Sequence[str],
    rows: Iterable[tuple[Sequence[str], Sequence[float]]],
) -> Sequence[Metric]:
    """Gauges with the same labels; `names` are their names and descriptions.

    A row has the values of the labels, and the value of each gauge.
    """
    gauges = [GaugeMetricFamily(name, words, labels=labels) for name, words in names]
    for label_values, values in rows:
        for gauge, value in zip(gauges, values, strict=True):
            gauge.add_metric(label_values, value)
    return gauges


def read(snapshot: Snapshot) -> Iterator[Metric]:
    """The gauges of a snapshot."""
    roots = [provider for provider in snapshot if provider.id == provider.root_id]
    disabled = sum(DISABLED_TRAIT in root.traits for root in roots)
    yield GaugeMetricFamily(
        'placement_resource_providers', 'Resource providers in the snapshot.', len(snapshot)
    )
    yield GaugeMetricFamily('placement_provider_trees', 'Trees of providers.', len(roots))
    yield GaugeMetricFamily(
        'placement_disabled_hosts', f'Roots with the trait {DISABLED_TRAIT}.', disabled
    )
    sums = _add_up(
        ((resource_class,), capacity, used)
        for provider in snapshot
        for resource_class, capacity, used in provider.inventories
    )
    names = [(f'placement_resource_{name}', f'{words}.') for name, words in _SUMS]
    yield from families([*names, _OVER_CAPACITY], ['resource_class'], sums)


def read_aggregates(snapshot: Snapshot, names: Mapping[str, str]) -> Iterator[Metric]:
    """The sums of aggregates that have a name.

    A provider counts if it or the root of its tree is a member: nova adds the host to the
    aggregate, but not its devices. Two aggregates with the same name are added up.
    """
    sums = _add_up(
        ((aggregate, resource_class), capacity, used)
        for provider in snapshot
        for aggregate in {
            names[uuid]
            for uuid in provider.aggregates | snapshot.provider(provider.root_id).aggregates
            if uuid in names
        }
        for resource_class, capacity, used in provider.inventories
    )
    shown = [(f'placement_aggregate_{n}', f'{words}, of one aggregate.') for n, words in _SUMS]
    rows = [(labels, values[:-1]) for labels, values in sums]
    yield from families(shown, ['aggregate', 'resource_class'], rows)


def _add_up(
    inventories: Iterable[tuple[tuple[str, ...], Capacity, int]],
) -> list[tuple[tuple[str, ...], list[int]]]:
    """Add up capacities and usages by labels: `_SUMS`, and the number over capacity."""
    sums: dict[tuple[str, ...], list[int]] = {}
    for labels, capacity, used in inventories:
        is_over = used > capacity.ceiling
        values = (capacity.total, capacity.reserved, capacity.reported_capacity, used, is_over)
        sums[labels] = list(map(operator.add, sums.get(labels, [0] * len(values)), values))
    return sorted(sums.items())


def read_providers(snapshot: Snapshot, names: Mapping[int, str]) -> Iterator[Metric]:
    """Each inventory of each provider with a name, under the names of openstack-exporter."""
    rows = (
        (
            (names[provider.id], resource_class),
            (capacity.total, capacity.reserved, capacity.allocation_ratio, used),
        )
        for provider in snapshot
        # The names are older than the snapshot: a newer provider comes with the next scrape.
        if provider.id in names
        for resource_class, capacity, used in provider.inventories
    )
    yield from families(_PER_PROVIDER, ['hostname', 'resourcetype'], rows)
