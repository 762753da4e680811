#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draw the pictures of the page about performance from its tables.

    pip install matplotlib
    python tools/performance_pictures.py

Writes `times-less.svg`, `growth.svg` and `clients.svg` in ``doc/source``. Writing and axes have
the colour of the text around them, so that they can be read in light and in dark pages.
"""

from __future__ import annotations

import io
import json
import pathlib
import re
from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot, ticker

PAGES = pathlib.Path(__file__).parents[1] / 'doc' / 'source'
TABLES = json.loads((PAGES / 'figures.json').read_text())

SIZES = (100, 1_000, 10_000, 50_000)
#: What is drawn, by the names of rows of the table "growth".
HEADLINE = {
    'Search, hosts, ``limit=10``': 'Search, ten candidates',
    'Search, hosts, no limit': 'Search, all candidates',
    'Claim, look, release': 'Claim, look, release',
    'List all providers': 'List all providers',
}
GROWTH = {
    'Search, hosts, ``limit=10``': 'Search, ten candidates',
    'Search, hosts, ``limit=1000``': 'Search, 1,000 candidates',
    'Search, hosts, no limit': 'Search, all candidates',
    'List all providers': 'List all providers',
    'Read its inventories': 'Read inventories',
    'Claim, look, release': 'Claim, look, release',
}
HEADLINE_SIZE = 10_000

OURS, UPSTREAM = '#3b82d6', '#d9566b'
# Stands for the colour of the text around the picture.
INK, GRID = '#123456', '#8c959f'
PIXELS_PER_POINT = 4 / 3
# As an image by itself it has no text around it. Pages that have it inline win.
COLOURS = (
    '<style>:where(svg) {color: #1f2328} '
    '@media (prefers-color-scheme: dark) {:where(svg) {color: #e6edf3}}</style>'
)

#: Costs of this service and of upstream by number of hosts, or throughput by number of clients.
Pairs = Mapping[int, tuple[float, float]]


def number(text: str) -> float:
    return float(text.replace(',', ''))


def costs() -> Mapping[str, Pairs]:
    """The table "growth"."""
    found = {}
    for name, *cells in TABLES['growth']['rows'][1:]:
        pairs = [cell.split(' / ') for cell in cells if cell]
        found[name] = {
            size: (number(ours), number(theirs))
            for size, (ours, theirs) in zip(SIZES, pairs, strict=False)
        }
    return found


def throughput() -> Mapping[str, Pairs]:
    """The table "clients"."""
    shown = TABLES['clients']['rows'][1:]
    rows = [[number(cell) if cell else None for cell in row] for row in shown]
    return {
        title: {
            int(row[0] or 0): (row[column], row[column + 1])
            for row in rows
            if row[column] is not None
        }
        for title, column in (('Four hosts', 1), ('Many hosts', 3))
    }


def draw_headline(found: Mapping[str, Pairs]) -> Any:
    """Draw the ratios of processor time, upstream to this service."""
    figure, axes = pyplot.subplots(figsize=(7.2, 2.5), layout='constrained')
    ratios = {}
    for row, name in HEADLINE.items():
        ours, theirs = found[row][HEADLINE_SIZE]
        ratios[name] = theirs / ours
    axes.barh(list(ratios), list(ratios.values()), color=OURS, height=0.62)
    for place, ratio in enumerate(ratios.values()):
        shown = f'{ratio:,.0f}' if ratio < 100 else f'{round(ratio, -1):,.0f}'
        axes.text(ratio * 1.08, place, shown, va='center', weight='bold', color=INK)
    axes.invert_yaxis()
    axes.set_xscale('log')
    axes.set_xlim(1, 4_000)
    axes.set_xticks([])
    axes.minorticks_off()
    for side in ('top', 'right', 'bottom'):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0)
    figure.suptitle(
        f'Times less processor time than upstream, with {HEADLINE_SIZE:,} hosts (logarithmic)',
        x=0.01,
        ha='left',
        fontsize=12,
    )
    return figure


def draw_growth(found: Mapping[str, Pairs]) -> Any:
    """Cost by number of hosts, on the same axes everywhere."""
    figure, grid = pyplot.subplots(
        2, 3, sharex=True, sharey=True, figsize=(9.6, 6), layout='constrained'
    )
    for axes, (row, name) in zip(grid.flat, GROWTH.items(), strict=True):
        draw_pairs(axes, name, found[row])
        axes.set_xscale('log')
        axes.set_yscale('log')
        axes.set_xlim(70, 90_000)
        axes.set_ylim(0.3, 20_000)
        axes.xaxis.set_major_locator(ticker.FixedLocator(SIZES))
        axes.xaxis.set_minor_locator(ticker.NullLocator())
        axes.tick_params(axis='x', labelsize=9)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f'{value:,g}'))
        axes.yaxis.set_minor_locator(ticker.NullLocator())
    for axes in grid[-1]:
        axes.set_xlabel('hosts, logarithmic')
    grid[0, 0].legend(loc='upper left', frameon=False)
    for axes in grid[:, 0]:
        axes.set_ylabel('CPU ms, logarithmic')
    return figure


def draw_clients(found: Mapping[str, Pairs]) -> Any:
    """Throughput by number of clients."""
    figure, grid = pyplot.subplots(1, 2, sharey=True, figsize=(9.6, 3.4), layout='constrained')
    for axes, (name, pairs) in zip(grid, found.items(), strict=True):
        draw_pairs(axes, name, pairs)
        axes.set_xscale('log', base=2)
        axes.set_xlim(0.8, 80)
        axes.set_ylim(0, 160)
        axes.xaxis.set_major_locator(ticker.FixedLocator([1, 2, 4, 8, 16, 32, 64]))
        axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f'{value:g}'))
        axes.set_xlabel('clients, logarithmic')
    grid[0].set_ylabel('cycles per second')
    grid[0].legend(loc='center left', frameon=False)
    return figure


def draw_pairs(axes: Any, title: str, pairs: Pairs) -> None:
    """Two lines."""
    across = sorted(pairs)
    for part, (name, colour) in enumerate((('Placement', OURS), ('upstream', UPSTREAM))):
        values = [pairs[one][part] for one in across]
        axes.plot(
            across, values, '-' if part == 0 else '--', color=colour, marker='o', markersize=4,
            label=name,
        )  # fmt: skip
    axes.set_title(title, loc='left')
    axes.grid(color=GRID, linewidth=0.4, alpha=0.5)
    for side in ('top', 'right'):
        axes.spines[side].set_visible(False)


def write(figure: Any, name: str, title: str) -> None:
    """Write a figure as a drawing that pages can have inline."""
    mpl.rcParams['svg.hashsalt'] = name
    file = io.StringIO()
    figure.savefig(file, format='svg', transparent=True, metadata={'Date': None, 'Creator': None})
    drawing = file.getvalue()
    drawing = drawing[drawing.index('<svg') :].replace(INK, 'currentColor')
    width, height = (
        round(float(size) * PIXELS_PER_POINT)
        for size in re.findall(r'(?:width|height)="([\d.]+)pt"', drawing)[:2]
    )
    for left_out in (
        r' ?(width|height)="[\d.]+pt"', r'\s*<metadata>.*?</metadata>', r'<style.*?</style>',
    ):  # fmt: skip
        drawing = re.sub(left_out, '', drawing, flags=re.DOTALL)
    head, rest = drawing.split('>', 1)
    head += f' id="{name}" stroke-linejoin="round" width="{width}" height="{height}"'
    colours = COLOURS.replace('svg', f'#{name}')
    lines = f'{head}>\n<title>{title}</title>\n{colours}{rest}'.splitlines()
    (PAGES / f'{name}.svg').write_text('\n'.join(line.rstrip() for line in lines) + '\n')


def main() -> None:
    mpl.rcParams.update(
        {
            'svg.fonttype': 'none', 'font.family': 'sans-serif', 'font.size': 11,
            **dict.fromkeys(
                ('text.color', 'axes.labelcolor', 'axes.edgecolor', 'xtick.color', 'ytick.color'),
                INK,
            ),
        }
    )  # fmt: skip
    found = costs()
    size = f'{HEADLINE_SIZE:,}'
    write(draw_headline(found), 'times-less', f'Processor time beside upstream, {size} hosts')
    write(draw_growth(found), 'growth', 'Processor time by number of hosts')
    write(draw_clients(throughput()), 'clients', 'Scheduling cycles per second by clients')


if __name__ == '__main__':
    main()
