# SPDX-License-Identifier: Apache-2.0
"""The table of the page of figures: the cost of each unit of work, ours beside upstream's."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.report import Result, columns, significant

NAME = 'Unit of work'
HEADINGS = (NAME, 'Median', 'CPU', 'Units/s', 'Statements')


def table(results: Sequence[Result]) -> str:
    """Processor time of a unit by the size of the cloud; all costs if each has only one size.

    Units of work that were measured at one size are left out of the first.
    """
    by_name: dict[str, dict[int, Result]] = {}
    for result in results:
        by_name.setdefault(result.scenario.name, {})[result.scenario.size] = result
    growing = {name: of_name for name, of_name in by_name.items() if len(of_name) > 1}
    if not growing:
        lines = [(name, *costs(one)) for name, of in by_name.items() for one in of.values()]
        return columns([HEADINGS, *lines])
    sizes = sorted({size for of_name in growing.values() for size in of_name})
    lines = [
        (name, *(costs(of_name[size])[1] if size in of_name else '' for size in sizes))
        for name, of_name in growing.items()
    ]
    return columns([(NAME, *(f'{size:,}' for size in sizes)), *lines])


def costs(result: Result) -> Sequence[str]:
    """Median, processor time, units per second and statements of both services."""
    ours, upstream = (
        [
            '-' if value is None else significant(value)
            for value in (one.median_ms, one.cpu_ms, one.units_per_second, one.statements)
        ]
        for one in (result.ours, result.upstream)
    )
    limit = result.upstream.too_slow
    if result.upstream.never_answered and limit is not None:
        upstream[0] = f'> {limit * 1000:,.0f}'
    return [f'{one} / {other}' for one, other in zip(ours, upstream, strict=True)]
