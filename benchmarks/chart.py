# SPDX-License-Identifier: Apache-2.0
"""Charts of the results as SVG: small plots with logarithmic axes.

One plot for each scenario shows the cost of a unit by the size of the cloud; scenarios that differ
in the number of clients share a plot of throughput by clients.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from xml.sax.saxutils import escape

from benchmarks.measure import Measurement
from benchmarks.report import Result, significant

Points = Sequence[tuple[float, float]]

PLOT_WIDTH, PLOT_HEIGHT = 260, 180
LEFT, TOP, RIGHT, BOTTOM = 48, 28, 12, 30
PLOTS_PER_ROW = 4
COLOURS = {'ours': '#1f6feb', 'upstream': '#d1495b'}
HEAD = 34
_CONCURRENT = re.compile(r'(.+), \d+ clients')
FONT = 'font-family="sans-serif" font-size="10"'


def svg(results: Iterable[Result], unit: str = 'CPU ms') -> str:
    """The chart of all scenarios that were measured at more than one size or number of clients."""
    plots = {name: series for name, series in _by_name(results).items() if _is_worth(series)}
    rows = math.ceil(len(plots) / PLOTS_PER_ROW)
    width, height = PLOTS_PER_ROW * PLOT_WIDTH, HEAD + rows * PLOT_HEIGHT
    frame = f'width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {frame} {FONT}>',
        f'<rect {frame} fill="white"/>',
        _legend(unit),
    ]
    for number, (name, series) in enumerate(plots.items()):
        row, column = divmod(number, PLOTS_PER_ROW)
        x, y = column * PLOT_WIDTH, HEAD + row * PLOT_HEIGHT
        parts.append(f'<g transform="translate({x},{y})">')
        parts.extend(_plot(name, series))
        parts.append('</g>')
    return '\n'.join([*parts, '</svg>', ''])


def _by_name(results: Iterable[Result]) -> dict[str, dict[str, list[tuple[float, float]]]]:
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for result in results:
        scenario = result.scenario
        concurrent = _CONCURRENT.fullmatch(scenario.name)
        title = f'{concurrent[1]}: units/s by clients' if concurrent else scenario.name
        series = found.setdefault(title, {'ours': [], 'upstream': []})
        for name in series:
            measured: Measurement = getattr(result, name)
            value = measured.units_per_second if concurrent else measured.cpu_ms
            if value:
                series[name].append((scenario.clients if concurrent else scenario.size, value))
    return found


def _is_worth(series: Mapping[str, Points]) -> bool:
    return len({across for points in series.values() for across, _value in points}) > 1


def _legend(unit: str) -> str:
    entries = (
        f'<tspan fill="{colour}" font-weight="bold">{name}</tspan>'
        for name, colour in COLOURS.items()
    )
    says = f'{unit} by number of hosts, unless said otherwise: {", ".join(entries)}'
    return f'<text x="{LEFT}" y="20" font-size="13">{says}</text>'


def _plot(name: str, series: Mapping[str, Points]) -> Iterable[str]:
    everything = [point for points in series.values() for point in points]
    across = Axis([x for x, _ in everything], LEFT, PLOT_WIDTH - RIGHT)
    upwards = Axis([y for _, y in everything], PLOT_HEIGHT - BOTTOM, TOP)
    yield f'<text x="{LEFT}" y="16" font-size="11">{escape(name)}</text>'
    for tick in across.ticks():
        x = across.place(tick)
        yield f'<line x1="{x}" y1="{TOP}" x2="{x}" y2="{PLOT_HEIGHT - BOTTOM}" stroke="#ddd"/>'
        yield f'<text x="{x}" y="{PLOT_HEIGHT - 16}" text-anchor="middle">{tick:,.0f}</text>'
    for tick in upwards.ticks():
        y = upwards.place(tick)
        yield f'<line x1="{LEFT}" y1="{y}" x2="{PLOT_WIDTH - RIGHT}" y2="{y}" stroke="#ddd"/>'
        yield f'<text x="{LEFT - 4}" y="{y + 3}" text-anchor="end">{significant(tick)}</text>'
    for who, points in series.items():
        placed = [(across.place(x), upwards.place(y)) for x, y in sorted(points)]
        line = ' '.join(f'{x},{y}' for x, y in placed)
        colour = COLOURS[who]
        yield f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield from (f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in placed)


class Axis:
    """Places values between two ends, by their logarithm, with whole powers of ten around."""

    def __init__(self, values: Iterable[float], begin: float, end: float) -> None:
        known = list(values)
        self._low = math.floor(math.log10(min(known)))
        self._high = max(math.ceil(math.log10(max(known))), self._low + 1)
        self._begin, self._end = begin, end

    def place(self, value: float) -> float:
        """The coordinate of a value."""
        part = (math.log10(value) - self._low) / (self._high - self._low)
        return round(self._begin + part * (self._end - self._begin), 1)

    def ticks(self) -> list[float]:
        """The powers of ten."""
        return [10.0**power for power in range(self._low, self._high + 1)]
