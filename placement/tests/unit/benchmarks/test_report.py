# SPDX-License-Identifier: Apache-2.0
"""What the benchmark makes of its figures. How long anything takes is no test."""

import dataclasses
import json
from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks import chart, clouds, growth, report
from benchmarks.counting import Counted
from benchmarks.measure import Measurement, least_of, percentile
from benchmarks.progress import bar
from benchmarks.scenarios.base import Budget, Get, Scenario

NO_BUDGET = Budget()


def measured(milliseconds: float, **values: Any) -> Measurement:
    """Two units of that many milliseconds each."""
    seconds = milliseconds / 1000
    return Measurement(
        latencies=[seconds, seconds], cpu_seconds=2 * seconds, elapsed=2 * seconds, **values
    )


def result(
    ours: Measurement,
    upstream: Measurement,
    budget: Budget = NO_BUDGET,
    size: int = 10,
    engine: str = 'sqlite',
) -> report.Result:
    scenario = Scenario(
        'a read', size, clouds.Plan(clouds.flat, size), lambda _number: Get('/'), budget=budget
    )
    return report.Result(scenario, ours, upstream, engine)


def test_a_percentile_is_one_of_the_values() -> None:
    values = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert percentile(values, 0.5) == 3.0
    assert percentile(values, 0.99) == 5.0
    assert percentile([7.0], 0.99) == 7.0


def test_figures_are_of_one_unit() -> None:
    measurement = Measurement(latencies=[0.001, 0.002, 0.009], cpu_seconds=0.006, elapsed=0.012)
    assert measurement.median_ms == pytest.approx(2)
    assert measurement.p99_ms == pytest.approx(9)
    assert measurement.cpu_ms == pytest.approx(2)
    assert measurement.units_per_second == pytest.approx(250)


def test_statements_are_the_mean_over_requests() -> None:
    requests = [Counted('PUT /a', 3, 5), Counted('GET /a', 1, 2)]
    measurement = measured(1, requests=requests)
    assert (measurement.statements, measurement.round_trips) == (2, 3.5)


def test_empty_measurement_has_no_figures() -> None:
    nothing = Measurement()
    figures = (nothing.median_ms, nothing.p99_ms, nothing.cpu_ms, nothing.units_per_second)
    assert figures == (None, None, None, None)
    assert result(nothing, nothing).cpu_ratio is None


def test_ratio_is_upstream_divided_by_ours() -> None:
    compared = result(measured(2), measured(50))
    for ratio in (compared.time_ratio, compared.cpu_ratio, compared.rate_ratio):
        assert ratio is not None
        assert ratio.value == pytest.approx(25)


@pytest.mark.parametrize(('upstream', 'holds'), [(50, True), (49, False)])
def test_budget_is_met_from_its_ratio_on(upstream: float, holds: bool) -> None:
    assert result(measured(2), measured(upstream), Budget(ratio=25)).holds is holds


def test_budget_in_milliseconds_ignores_upstream() -> None:
    assert result(measured(99), Measurement(), Budget(milliseconds=100)).holds is True
    assert result(measured(101), Measurement(), Budget(milliseconds=100)).holds is False


def test_budget_of_one_database_ignores_others() -> None:
    budget = Budget(ratio=10, of='rate', engine='mariadb')
    assert result(measured(1), measured(2), budget).holds is None
    assert result(measured(1), measured(2), budget, engine='mariadb').holds is False


def test_service_without_answer_counts_as_the_limit() -> None:
    hangs = Measurement(too_slow=40.0, wasted_cpu_seconds=39.0)
    assert str(result(measured(4), hangs).time_ratio) == '> 10000'
    assert str(result(measured(4), hangs).cpu_ratio) == '> 9750'
    assert result(measured(4), hangs, Budget(ratio=1000)).holds is True
    # Nobody knows whether it would have taken as long as that.
    assert result(measured(4), hangs, Budget(ratio=20000)).holds is None


def test_service_that_hangs_later_counts_by_its_answers() -> None:
    hung = dataclasses.replace(measured(12), too_slow=40.0, wasted_cpu_seconds=39.0)
    compared = result(measured(4), hung, Budget(ratio=10))
    assert str(compared.time_ratio) == '3'
    assert compared.holds is False
    assert 'upstream: one request > 40 s' in report.remarks(compared)


@pytest.mark.parametrize('failed', [{'too_slow': 40.0}, {'failure': 'it burns'}])
def test_failure_of_ours_misses_every_budget(failed: dict[str, Any]) -> None:
    ours = dataclasses.replace(measured(1), **failed)
    for budget in (Budget(ratio=2), Budget(milliseconds=100)):
        compared = result(ours, measured(100), budget)
        assert compared.cpu_ratio is None
        assert compared.holds is False
    assert result(ours, measured(100)).holds is None


def test_statements_are_the_minimum_over_units() -> None:
    first = [Counted('PUT /a', 5, 6), Counted('DELETE /a', 3, 4)]
    later = [Counted('PUT /a', 4, 5), Counted('DELETE /a', 4, 5)]
    assert least_of([first, later]) == [Counted('PUT /a', 4, 5), Counted('DELETE /a', 3, 4)]


def test_remarks_name_refusals_and_different_answers() -> None:
    compared = result(measured(1, items=3), measured(1, items=4, refused={409: 2}))
    assert report.remarks(compared) == 'ANSWERS DIFFER (3, 4 items); upstream: 2 x 409'


def test_the_table_has_a_line_for_each_scenario() -> None:
    hangs = Measurement(too_slow=40.0, wasted_cpu_seconds=39.0)
    lines = report.table([result(measured(2), measured(50)), result(measured(2), hangs)])
    assert [line.split('  ')[0] for line in lines.splitlines()[1:]] == ['a read [10]'] * 2
    assert '> 40000' in lines


def test_requests_are_listed_with_their_statements() -> None:
    one = measured(1, requests=[Counted('PUT /a', 3, 5)])
    other = measured(1, requests=[Counted('PUT /a', 17, 24)])
    listed = report.requests([result(one, other)]).splitlines()
    assert listed[1].split() == ['a', 'read', '[10]:', 'PUT', '/a', '3', '5', '17', '24']


def test_results_can_be_written_as_json() -> None:
    hangs = Measurement(too_slow=40.0, wasted_cpu_seconds=39.0)
    compared = result(measured(2), hangs, Budget(ratio=5))
    written = json.loads(json.dumps(compared.as_dict()))
    assert written['holds'] is True
    assert written['ours']['units'] == 2
    assert written['upstream']['too_slow'] == 40.0


@pytest.mark.parametrize(
    ('value', 'text'),
    [(1234.5, '1234'), (12.34, '12.3'), (10.0, '10'), (0.126, '0.13'), (2.0, '2'), (0, '0')],
)
def test_numbers_are_rounded_to_significant_digits(value: float, text: str) -> None:
    assert report.significant(value) == text


def test_chart_plots_scenarios_with_several_sizes() -> None:
    sizes = [result(measured(size), measured(9 * size), size=size) for size in (10, 1000)]
    drawn = ElementTree.fromstring(chart.svg(sizes))
    space = '{http://www.w3.org/2000/svg}'
    assert len(drawn.findall(f'{space}g')) == 1
    assert len(drawn.findall(f'{space}g/{space}polyline')) == 2
    assert not ElementTree.fromstring(chart.svg(sizes[:1])).findall(f'{space}g')


def test_chart_plots_throughput_by_clients() -> None:
    crowds = []
    for clients in (1, 8):
        one = result(measured(clients), measured(9 * clients), size=4)
        scenario = dataclasses.replace(
            one.scenario, name=f'claims, four hosts, {clients} clients', clients=clients
        )
        crowds.append(dataclasses.replace(one, scenario=scenario))
    drawn = ElementTree.fromstring(chart.svg(crowds))
    space = '{http://www.w3.org/2000/svg}'
    title = drawn.find(f'{space}g/{space}text')
    assert title is not None
    assert title.text == 'claims, four hosts: units/s by clients'
    assert len(drawn.findall(f'{space}g/{space}polyline')) == 2


def test_growth_lists_scenarios_with_several_sizes() -> None:
    sizes = [result(measured(size), measured(9 * size), size=size) for size in (10, 1000)]
    lines = growth.table(sizes).splitlines()
    assert lines[0].split()[-2:] == ['10', '1,000']
    assert lines[1].split() == ['a', 'read', '10', '/', '90', '1000', '/', '9000']
    assert growth.table(sizes[:1]) == ''


def test_an_axis_places_by_logarithm() -> None:
    axis = chart.Axis([10, 1000], begin=0, end=100)
    assert [axis.place(value) for value in (10, 100, 1000)] == [0, 50, 100]
    assert axis.ticks() == [10, 100, 1000]


def test_progress_bar_shows_the_steps_done() -> None:
    assert bar(1, 2) == '[############............]   1/2'
