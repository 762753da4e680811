# SPDX-License-Identifier: Apache-2.0
"""A table of the cost of each scenario by the size of the cloud."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.report import Result, columns, significant

Costs = dict[int, str]


def table(results: Sequence[Result]) -> str:
    """Processor time of a unit by size, ours and upstream; empty when there is only one size.

    Scenarios of a single size are left out.
    """
    by_name: dict[str, Costs] = {}
    for result in results:
        costs = f'{_cost(result.ours.cpu_ms)} / {_cost(result.upstream.cpu_ms)}'
        by_name.setdefault(result.scenario.name, {})[result.scenario.size] = costs
    growing = {name: costs for name, costs in by_name.items() if len(costs) > 1}
    if not growing:
        return ''
    sizes = sorted({size for costs in growing.values() for size in costs})
    heading = ['CPU ms, ours / upstream', *(f'{size:,}' for size in sizes)]
    lines = [[name, *(costs.get(size, '') for size in sizes)] for name, costs in growing.items()]
    return columns([heading, *lines])


def _cost(milliseconds: float | None) -> str:
    return '-' if milliseconds is None else significant(milliseconds)
