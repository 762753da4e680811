# SPDX-License-Identifier: Apache-2.0
"""The cloud in figures, from one snapshot: sums by resource class, aggregates, providers."""

import collections
from collections.abc import Iterator, Mapping, Sequence

from prometheus_client.core import GaugeMetricFamily, Metric

from placement.search.model.capacity import Capacity
from placement.search.model.kind import DISABLED_TRAIT
from placement.search.model.snapshot import Snapshot


class _Sums:
    """The sums of the inventories of one resource class."""

    __slots__ = ('capacity', 'over_capacity', 'reserved', 'total', 'used')

    def __init__(self) -> None:
        self.total = self.reserved = self.capacity = self.used = self.over_capacity = 0

    def add(self, capacity: Capacity, used: int) -> None:
        """Add one inventory."""
        self.total += capacity.total
        self.reserved += capacity.reserved
        self.capacity += capacity.reported_capacity
        self.used += used
        self.over_capacity += used > capacity.ceiling


_SumsByLabels = dict[tuple[str, ...], _Sums]

# The end of a name, the member of `_Sums`, and the meaning.
_OF_INVENTORIES = (
    ('inventory', 'total', 'Sum of the totals of all inventories'),
    ('reserved', 'reserved', 'Sum of what is reserved of all inventories'),
    (
        'capacity',
        'capacity',
        'Sum of the capacities: total without reserved, times the allocation ratio',
    ),
    ('used', 'used', 'Sum of what is allocated'),
)

# The names, labels and meanings of openstack-exporter.
_PER_PROVIDER = (
    ('openstack_placement_resource_total', 'Total of an inventory.'),
    ('openstack_placement_resource_reserved', 'What is reserved of an inventory.'),
    ('openstack_placement_resource_allocation_ratio', 'Allocation ratio of an inventory.'),
    ('openstack_placement_resource_usage', 'What is allocated of an inventory.'),
)


def read(snapshot: Snapshot) -> Iterator[Metric]:
    """The gauges of a snapshot."""
    sums: _SumsByLabels = collections.defaultdict(_Sums)
    roots = disabled = 0
    for provider in snapshot:
        for name, capacity, used in provider.inventories:
            sums[name,].add(capacity, used)
        if provider.id == provider.root_id:
            roots += 1
            disabled += DISABLED_TRAIT in provider.traits
    yield GaugeMetricFamily(
        'placement_resource_providers', 'Resource providers in the snapshot.', len(snapshot)
    )
    yield GaugeMetricFamily('placement_provider_trees', 'Trees of providers.', roots)
    yield GaugeMetricFamily(
        'placement_disabled_hosts', f'Roots with the trait {DISABLED_TRAIT}.', disabled
    )
    for name, attribute, words in _OF_INVENTORIES:
        yield _family(
            f'placement_resource_{name}', f'{words}.', ['resource_class'], sums, attribute
        )
    yield _family(
        'placement_inventories_over_capacity',
        'Inventories of which more is allocated than their capacity.',
        ['resource_class'],
        sums,
        'over_capacity',
    )


def read_aggregates(snapshot: Snapshot, names: Mapping[str, str]) -> Iterator[Metric]:
    """The sums of aggregates that have a name.

    A provider counts where it is a member, or the root of its tree is: nova makes the host a
    member, and not what is in it. Two aggregates with one name are one.
    """
    sums: _SumsByLabels = collections.defaultdict(_Sums)
    for provider in snapshot:
        root = snapshot.provider(provider.root_id)
        members = provider.aggregates | root.aggregates
        for name in {names[uuid] for uuid in members & names.keys()}:
            for resource_class, capacity, used in provider.inventories:
                sums[name, resource_class].add(capacity, used)
    labels = ['aggregate', 'resource_class']
    for name, attribute, words in _OF_INVENTORIES:
        words = f'{words}, of one aggregate.'
        yield _family(f'placement_aggregate_{name}', words, labels, sums, attribute)


def _family(
    name: str, words: str, labels: Sequence[str], sums: _SumsByLabels, attribute: str
) -> Metric:
    """The gauges of one member of `_Sums`."""
    family = GaugeMetricFamily(name, words, labels=labels)
    for values in sorted(sums):
        family.add_metric(values, getattr(sums[values], attribute))
    return family


def read_providers(snapshot: Snapshot, names: Mapping[int, str]) -> Iterator[Metric]:
    """Each inventory of each provider that has a name, by the names of openstack-exporter."""
    families = [
        GaugeMetricFamily(name, words, labels=['hostname', 'resourcetype'])
        for name, words in _PER_PROVIDER
    ]
    for provider in snapshot:
        name = names.get(provider.id)
        # One that was made after the snapshot has none yet; it comes with the next scrape.
        if name is None:
            continue
        for resource_class, capacity, used in provider.inventories:
            values = (capacity.total, capacity.reserved, capacity.allocation_ratio, used)
            for family, value in zip(families, values, strict=True):
                family.add_metric([name, resource_class], value)
    yield from families
