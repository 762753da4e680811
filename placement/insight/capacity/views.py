# SPDX-License-Identifier: Apache-2.0
"""Capacities of requests as JSON (specification: insight)."""

from collections.abc import Mapping
from typing import Any

from placement.insight.explain.views import Names, provider
from placement.search.insight.capacity import RequestCapacity
from placement.search.insight.closed_form import Count


def capacity(found: RequestCapacity) -> dict[str, Any]:
    """The counts of a request, without those by tree."""
    return {
        'now': _count(found.now),
        'if_empty': _count(found.if_empty),
        'exact': found.is_exact,
        'fragmentation': [
            {
                'resource_class': one.resource_class,
                'capacity': one.capacity,
                'used': one.used,
                'free': one.free,
                'usable': one.usable,
            }
            for one in found.fragmentation
        ],
    }


def capacities(found: Mapping[str, RequestCapacity]) -> dict[str, Any]:
    """The counts of several requests, by their names."""
    return {'capacities': {name: capacity(one) for name, one in found.items()}}


def by_root(found: RequestCapacity, names: Names) -> dict[str, Any]:
    """The counts of each tree for itself; null where none were asked for."""
    rows = None
    if found.trees is not None:
        rows = [
            {
                'root': provider(one.root, names),
                'now': _count(one.now),
                'if_empty': _count(one.if_empty),
            }
            for one in found.trees
        ]
    return {'trees': rows, 'note': found.note}


def _count(count: Count) -> dict[str, int]:
    return {'at_least': count.at_least, 'at_most': count.at_most}
