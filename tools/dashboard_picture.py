#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draw the panels of a row of the Grafana dashboard with what a Prometheus knows.

    pip install matplotlib requests
    python tools/dashboard_picture.py http://127.0.0.1:9090 doc/source/dashboard.png --row Cloud

Makes the picture of the page about monitoring without Grafana, which neither Debian nor PyPI has.
Titles, places, units, queries and names of the series come from ``etc/grafana/placement.json``;
colours and fonts do not.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import pathlib
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import matplotlib as mpl
import requests
from matplotlib import dates, pyplot, ticker

DASHBOARD = pathlib.Path(__file__).parents[1] / 'etc' / 'grafana' / 'placement.json'
COLUMNS = 24
STEP_SECONDS = 5
#: What Grafana puts in for its variables.
VARIABLES = {'$__rate_interval': '1m', '$__range': '10m', '$instance': '.*'}
#: Inches of a column and of a row of the grid.
WIDTH, HEIGHT = 0.52, 0.36
STEPS = {'yellow': '#e0b400', 'red': '#c4162a'}
ROW_COLOUR, PANEL_COLOUR = '#f4f5f5', '#ffffff'
#: With more, the legend has no place. Series that are zero throughout are left out.
MOST_SERIES = 8

Series = list[tuple[datetime.datetime, float]]


def seconds(value: float) -> str:
    for size, unit in ((1, 's'), (1e-3, 'ms'), (1e-6, 'µs')):
        if abs(value) >= size:
            return f'{value / size:.3g} {unit}'
    return '0 s'


def short(value: float) -> str:
    return f'{value / 1000:.3g} K' if abs(value) >= 1_000 else f'{value:.3g}'


UNITS: Mapping[str, Callable[[float], str]] = {
    'short': short,
    's': seconds,
    'percentunit': lambda value: f'{100 * value:.3g} %',
    'reqps': lambda value: f'{value:.3g} req/s',
    'ops': lambda value: f'{value:.3g} ops/s',
}


class Prometheus:
    """Answers queries over the last minutes."""

    def __init__(self, url: str, minutes: float) -> None:
        self._url = url
        self._end = time.time()
        self._begin = self._end - 60 * minutes

    def series(self, target: Mapping[str, Any]) -> Iterator[tuple[str, Series]]:
        """The name and the points of each series of a target of a panel."""
        expression = target['expr']
        for name, value in VARIABLES.items():
            expression = expression.replace(name, value)
        asked = {
            'query': expression, 'start': self._begin, 'end': self._end, 'step': STEP_SECONDS,
        }  # fmt: skip
        answer = requests.get(f'{self._url}/api/v1/query_range', asked, timeout=30)
        answer.raise_for_status()
        for found in answer.json()['data']['result']:
            points = [
                (datetime.datetime.fromtimestamp(at), float(value))
                for at, value in found['values']
            ]
            yield (
                named(target, found['metric']),
                [point for point in points if math.isfinite(point[1])],
            )


def named(target: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """The legend of a series, as the target asks for it."""
    form = target.get('legendFormat') or ', '.join(labels.values())
    return re.sub(r'{{\s*(\w+)\s*}}', lambda match: labels.get(match[1], ''), form)


def of_row(panels: list[dict[str, Any]], title: str) -> Iterator[dict[str, Any]]:
    """The panels of a row, the first at the top."""
    rows = [panel for panel in panels if panel['type'] == 'row']
    (row,) = (one for one in rows if one['title'] == title)
    top = row['gridPos']['y'] + 1
    ends = [one['gridPos']['y'] for one in rows if one['gridPos']['y'] >= top]
    for panel in panels:
        place = panel['gridPos']
        if top <= place['y'] < min(ends, default=place['y'] + 1):
            yield {**panel, 'gridPos': {**place, 'y': place['y'] - top}}


def draw(panels: list[dict[str, Any]], source: Prometheus) -> None:
    """The panels, on one figure."""
    rows = max(panel['gridPos']['y'] + panel['gridPos']['h'] for panel in panels)
    mpl.rcParams.update({'font.size': 9, 'axes.spines.top': False, 'axes.spines.right': False})
    figure = pyplot.figure(figsize=(COLUMNS * WIDTH, rows * HEIGHT), facecolor=ROW_COLOUR)
    for panel in panels:
        found = [one for target in panel['targets'] for one in source.series(target)]
        axes = framed(figure, panel['gridPos'], rows)
        axes.set_title(panel['title'], fontsize=10, loc='left', weight='bold')
        defaults = panel['fieldConfig']['defaults']
        unit = UNITS[defaults.get('unit', 'short')]
        if 'thresholdsStyle' in defaults.get('custom', {}):
            for step in defaults['thresholds']['steps'][1:]:
                axes.axhline(
                    step['value'], color=STEPS[step['color']], linestyle='--', linewidth=1
                )
        (draw_number if panel['type'] == 'stat' else draw_lines)(axes, unit, found)


def framed(figure: Any, place: Mapping[str, int], rows: int) -> Any:
    """Axes within a frame at a place of the grid."""
    left, width, height = place['x'] / COLUMNS, place['w'] / COLUMNS, place['h'] / rows
    bottom = 1 - place['y'] / rows - height
    frame = mpl.patches.Rectangle(
        (left + 0.002, bottom + 0.001), width - 0.004, height - 0.002, linewidth=0.7,
        facecolor=PANEL_COLOUR, edgecolor='#dddddd', transform=figure.transFigure, zorder=-1,
    )  # fmt: skip
    figure.add_artist(frame)
    return figure.add_axes((left + 0.042, bottom + 2 / rows, width - 0.054, height - 3.2 / rows))


def draw_number(axes: Any, unit: Callable[[float], str], series: list[tuple[str, Series]]) -> None:
    """The latest value."""
    axes.set_axis_off()
    said = unit(series[0][1][-1][1]) if series and series[0][1] else 'No data'
    axes.text(0.5, 0.4, said, fontsize=18, ha='center', va='center')


def draw_lines(axes: Any, unit: Callable[[float], str], series: list[tuple[str, Series]]) -> None:
    """A line for each series that is not zero throughout."""
    drawn = [(name, points) for name, points in series if any(value for _at, value in points)]
    for name, points in drawn[:MOST_SERIES]:
        axes.plot(*zip(*points, strict=True), label=name, linewidth=1.2)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: unit(value)))
    axes.yaxis.set_major_locator(ticker.MaxNLocator(4))
    axes.xaxis.set_major_locator(dates.AutoDateLocator(minticks=3, maxticks=6))
    axes.xaxis.set_major_formatter(dates.DateFormatter('%H:%M'))
    axes.grid(color='#e5e5e5', linewidth=0.5)
    if drawn:
        axes.legend(
            loc='upper left', bbox_to_anchor=(-0.1, -0.12), ncols=3, fontsize=7, frameon=False,
            columnspacing=1, handlelength=1,
        )  # fmt: skip
    else:
        said = '0' if series else 'No data'
        axes.text(0.5, 0.5, said, transform=axes.transAxes, ha='center', color='#888888')
        axes.set_xticks([])
        axes.set_yticks([])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('prometheus', help='its URL')
    parser.add_argument('picture', help='the file to write')
    parser.add_argument('--minutes', type=float, default=10)
    parser.add_argument('--row', default='Cloud', help='title of the row (%(default)s)')
    asked = parser.parse_args()
    panels = json.loads(DASHBOARD.read_text())['panels']
    draw(list(of_row(panels, asked.row)), Prometheus(asked.prometheus, asked.minutes))
    pyplot.savefig(asked.picture, dpi=100)


if __name__ == '__main__':
    main()
