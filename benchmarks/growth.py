# SPDX-License-Identifier: Apache-2.0
"""How the cost of scenarios grows with the size of the cloud, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.report import Result, columns, significant

Costs = dict[int, str]


def table(results: Sequence[Result]) -> str:
    """Processor time of a unit by size, ours and released; empty when there is but one size.

    What does not exist in several sizes is left out.
    """
    by_name: dict[str, Costs] = {}
    for result in results:
        costs = f'{_cost(result.ours.cpu_ms)} / {_cost(result.released.cpu_ms)}'
        by_name.setdefault(result.scenario.name, {})[result.scenario.size] = costs
    growing = {name: costs for name, costs in by_name.items() if len(costs) > 1}
    if not growing:
        return ''
    sizes = sorted({size for costs in growing.values() for size in costs})
    heading = ['CPU ms, ours / released', *(f'{size:,}' for size in sizes)]
    lines = [[name, *(costs.get(size, '') for size in sizes)] for name, costs in growing.items()]
    return columns([heading, *lines])


def _cost(milliseconds: float | None) -> str:
    return '-' if milliseconds is None else significant(milliseconds)
