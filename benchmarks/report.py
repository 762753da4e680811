# SPDX-License-Identifier: Apache-2.0
"""Tables of the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.measure import Measurement
from benchmarks.scenarios.base import Budget, Scenario


@dataclass(frozen=True)
class Ratio:
    """The ratio of upstream's figure to this service's; a lower bound if upstream never
    answered."""

    value: float
    is_at_least: bool = False

    def __str__(self) -> str:
        return f'{"> " if self.is_at_least else ""}{significant(self.value)}'


@dataclass(frozen=True)
class Result:
    """The measurements of both services in one scenario."""

    scenario: Scenario
    ours: Measurement
    upstream: Measurement
    engine: str = 'sqlite'

    @property
    def budget(self) -> Budget:
        """The target on this database engine."""
        budget = self.scenario.budget
        return budget if budget.engine in ('', self.engine) else Budget()

    @property
    def time_ratio(self) -> Ratio | None:
        """The ratio of median times, upstream to this service."""
        limit = self.upstream.too_slow or 0
        return self._ratio(self.ours.median_ms, self.upstream.median_ms, limit)

    @property
    def cpu_ratio(self) -> Ratio | None:
        """The ratio of processor times, upstream to this service."""
        return self._ratio(
            self.ours.cpu_ms, self.upstream.cpu_ms, self.upstream.wasted_cpu_seconds
        )

    @property
    def rate_ratio(self) -> Ratio | None:
        """The ratio of units per second, this service to upstream."""
        ours, upstream = self.ours.units_per_second, self.upstream.units_per_second
        return Ratio(ours / upstream) if ours and upstream else None

    @property
    def holds(self) -> bool | None:
        """True if the budget is met; None without a budget or a figure."""
        budget = self.budget
        if budget != Budget() and self.ours.has_failed:
            return False
        if budget.milliseconds is not None:
            # Elapsed time would depend on what else runs on the machine.
            spent = self.ours.cpu_ms
            return None if spent is None else spent <= budget.milliseconds
        if budget.ratio is None:
            return None
        ratio = self.rate_ratio if budget.of == 'rate' else self.cpu_ratio
        if ratio is None or (ratio.is_at_least and ratio.value < budget.ratio):
            return None
        return ratio.value >= budget.ratio

    @property
    def agrees(self) -> bool:
        """Both services listed the same number of items, as far as both answered."""
        return None in (self.ours.items, self.upstream.items) or (
            self.ours.items == self.upstream.items
        )

    def _ratio(self, ours: float | None, upstream: float | None, at_least: float) -> Ratio | None:
        """The ratio of upstream to this service; `at_least` replaces a missing figure."""
        if not ours or self.ours.has_failed:
            return None
        if self.upstream.never_answered:
            return Ratio(at_least * 1000 / ours, is_at_least=True)
        return Ratio(upstream / ours) if upstream else None


HEADINGS = (
    'scenario [size]', 'ours ms', 'p99', 'CPU', '/s', 'SQL', 'MB',
    'upstream ms', 'p99', 'CPU', '/s', 'SQL', 'MB', 'time x', 'CPU x', 'budget', '',
)  # fmt: skip


LEGEND = (
    'Figures are those of one unit, which may be several requests: median and 99th percentile\n'
    'over HTTP in ms, processor time of the worker in ms, units per second of all clients. SQL:\n'
    'statements per request. MB: memory of the worker. Ratios above 1 are in favour of ours.'
)


def table(results: Sequence[Result]) -> str:
    """The results, one line each, in columns."""
    return columns([HEADINGS, *map(_line, results)])


def requests(results: Sequence[Result]) -> str:
    """Statements and round trips of each request of a unit, from scenarios with one client."""
    lines: dict[Sequence[str], None] = {
        ('request', 'ours SQL', 'round trips', 'upstream SQL', 'round trips'): None
    }
    for result in results:
        if result.scenario.clients > 1:
            continue
        for ours, upstream in zip(result.ours.requests, result.upstream.requests, strict=False):
            counts = (
                ours.statements, ours.round_trips, upstream.statements, upstream.round_trips
            )  # fmt: skip
            # Every request makes a round trip: zero means that the driver does not count them.
            shown = [str(count or '') for count in counts]
            lines[f'{result.scenario.title}: {ours.request}', *shown] = None
    return columns(list(lines))


def columns(lines: Sequence[Sequence[str]]) -> str:
    """Lines of cells in columns; the first is aligned left, the others right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return '\n'.join(
        '  '.join(
            cell.rjust(width) if number else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _line(result: Result) -> Sequence[str]:
    return (
        result.scenario.title,
        *_cells(result.ours),
        *_cells(result.upstream),
        _text(result.time_ratio),
        _text(result.cpu_ratio),
        _budget(result),
        remarks(result),
    )


def _cells(measurement: Measurement) -> Sequence[str]:
    if measurement.never_answered and measurement.too_slow is not None:
        return (f'> {measurement.too_slow * 1000:.0f}', '', '', '', '', '')
    if measurement.failure is not None:
        return ('fails', '', '', '', '', '')
    return tuple(
        '' if value is None else significant(value)
        for value in (
            measurement.median_ms, measurement.p99_ms, measurement.cpu_ms,
            measurement.units_per_second, measurement.statements, measurement.memory_mb,
        )
    )  # fmt: skip


def _budget(result: Result) -> str:
    budget = result.budget
    if budget.milliseconds is not None:
        return f'{budget.milliseconds:g} ms CPU'
    if budget.ratio is None:
        return ''
    return f'{budget.ratio:g} x' + ('/s' if budget.of == 'rate' else '')


def remarks(result: Result) -> str:
    """Notes on a result: its budget, refusals, failures and different answers."""
    found = []
    if result.holds is not None:
        found.append('holds' if result.holds else 'MISSES')
    if not result.agrees:
        found.append(f'ANSWERS DIFFER ({result.ours.items}, {result.upstream.items} items)')
    for name, measurement in (('ours', result.ours), ('upstream', result.upstream)):
        refused = ', '.join(f'{n} x {s}' for s, n in sorted(measurement.refused.items()))
        if refused:
            found.append(f'{name}: {refused}')
        if measurement.too_slow is not None and not measurement.never_answered:
            found.append(f'{name}: one request > {measurement.too_slow:g} s')
        if measurement.failure:
            found.append(f'{name}: {measurement.failure[:60]}')
    return '; '.join(found)


def _text(ratio: Ratio | None) -> str:
    return '' if ratio is None else str(ratio)


def significant(value: float) -> str:
    """The value with about three significant digits, and never with an exponent."""
    if abs(value) >= 100:
        return f'{value:.0f}'
    if abs(value) >= 10:
        return f'{value:.1f}'.removesuffix('.0')
    return f'{value:.2f}'.rstrip('0').removesuffix('.')
