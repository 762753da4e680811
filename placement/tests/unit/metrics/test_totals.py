# SPDX-License-Identifier: Apache-2.0
"""What a scrape shows of several processes, those included that have ended."""

import dataclasses
import json
import logging
import os
import pathlib
import random
import tempfile
import threading
from collections.abc import Iterator
from typing import NoReturn

import pytest

from placement.metrics import catalog, ended, totals
from placement.metrics.recorder import Recorder
from placement.tests.unit.metrics.processes import samples

FAILURES = 'placement_insight_failures_total{}'
IN_USE = 'placement_db_pool_connections_in_use{primary}'
UPDATED = 'placement_snapshot_updated_timestamp_seconds{}'

# How often a process is restarted while others scrape.
RESTARTS = 200


def counted(directory: pathlib.Path, failures: float) -> Recorder:
    """A process that has counted so many failures."""
    recorder = Recorder(str(directory))
    recorder.add(catalog.INSIGHT_FAILURES, (), failures)
    recorder.observe(catalog.SEARCH_WORK, (), failures)
    recorder.write()
    return recorder


def test_counts_of_processes_are_added_up(tmp_path: pathlib.Path) -> None:
    recorders = [counted(tmp_path, number) for number in (1, 2, 4)]

    found = samples(tmp_path)
    assert found[FAILURES] == 7
    assert found['placement_search_work_places_count{}'] == 3
    for recorder in recorders:
        recorder.close()


def test_counts_of_ended_processes_stay_when_their_files_are_gone(tmp_path: pathlib.Path) -> None:
    living = counted(tmp_path, 1)
    counted(tmp_path, 2).close()
    counted(tmp_path, 4).close()

    for _ in range(3):
        found = samples(tmp_path)
        assert found[FAILURES] == 7
        assert found['placement_search_work_places_sum{}'] == 7
        assert found['placement_search_work_places_count{}'] == 3
    assert len(list(tmp_path.glob('counter_*.db'))) == 1
    living.close()
    assert samples(tmp_path)[FAILURES] == 7
    assert not list(tmp_path.glob('*.db'))


def test_gauges_of_ended_processes_end(tmp_path: pathlib.Path) -> None:
    first, second = Recorder(str(tmp_path)), Recorder(str(tmp_path))
    first.set(catalog.POOL_IN_USE, ('primary',), 2)
    second.set(catalog.POOL_IN_USE, ('primary',), 3)
    assert samples(tmp_path)[IN_USE] == 5

    first.close()
    assert samples(tmp_path)[IN_USE] == 3
    second.close()
    assert IN_USE not in samples(tmp_path)


def test_the_snapshot_that_is_furthest_behind_is_shown(tmp_path: pathlib.Path) -> None:
    recorders = [Recorder(str(tmp_path)) for _ in range(3)]
    for recorder, at in zip(recorders, (30.0, 10.0, 20.0), strict=True):
        recorder.set(catalog.SNAPSHOT_UPDATED, (), at)
    assert samples(tmp_path)[UPDATED] == 10.0

    recorders[1].close()
    assert samples(tmp_path)[UPDATED] == 20.0
    for recorder in recorders:
        recorder.close()


def test_releases_with_other_words_of_help_count_the_same(tmp_path: pathlib.Path) -> None:
    recorders = []
    for number in (1.0, 2.0):
        recorder = Recorder(str(tmp_path))
        for metric in (catalog.SNAPSHOT_UPDATED, catalog.POOL_IN_USE):
            older = dataclasses.replace(metric, help=f'As release {number} has it.')
            recorder.set(older, ('primary',)[: len(metric.labels)], number)
        recorders.append(recorder)

    found = samples(tmp_path)
    assert (found[UPDATED], found[IN_USE]) == (1.0, 3.0)
    for recorder in recorders:
        recorder.close()


def test_a_process_that_starts_merges_what_others_left(tmp_path: pathlib.Path) -> None:
    for _ in range(50):
        counted(tmp_path, 1).close()

    assert len(list(tmp_path.iterdir())) < 10
    assert samples(tmp_path)[FAILURES] == 50


@pytest.mark.parametrize('at', ['replace', 'unlink'])
def test_who_dies_while_merging_neither_loses_nor_repeats_a_count(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    class Killed(BaseException):
        """The process is killed."""

    def die(*_arguments: object) -> None:
        raise Killed

    for number in (1, 2, 4):
        counted(tmp_path, number).close()
    with monkeypatch.context() as patch:
        patch.setattr(os, at, die)
        with pytest.raises(Killed):
            ended.merge(str(tmp_path))

    assert samples(tmp_path)[FAILURES] == 7
    counted(tmp_path, 8).close()
    assert samples(tmp_path)[FAILURES] == 15


def test_scrapes_while_processes_come_and_go_never_go_down(tmp_path: pathlib.Path) -> None:
    total = 0
    stop = threading.Event()

    def restart() -> None:
        nonlocal total
        generator = random.Random(7)
        living: list[Recorder] = []
        while not stop.is_set():
            living.append(counted(tmp_path, 1))
            total += 1
            generator.shuffle(living)
            while len(living) > 3:
                living.pop().close()
        for recorder in living:
            recorder.close()

    thread = threading.Thread(target=restart)
    thread.start()
    seen = [0.0]
    while seen[-1] < RESTARTS and thread.is_alive():
        seen.append(samples(tmp_path).get(FAILURES, 0.0))
    stop.set()
    thread.join()

    assert seen == sorted(seen)
    assert seen[-1] >= RESTARTS
    assert samples(tmp_path)[FAILURES] == total


@pytest.fixture
def in_memory(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """A directory in memory, as operators have one; file systems write a replaced file at once."""
    shared = pathlib.Path('/dev/shm')
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else tmp_path) as name:
        yield pathlib.Path(name)


def test_two_thousand_restarts_leave_as_little_to_read_as_one(in_memory: pathlib.Path) -> None:
    for number in range(2_000):
        recorder = Recorder(str(in_memory))
        route = f'route{number % 20}.show'
        recorder.add(catalog.HTTP_REQUESTS, (route, 'GET', '200'))
        recorder.observe(catalog.HTTP_DURATION, (route, 'GET'), 0.003)
        recorder.write()
        recorder.close()

    found = samples(in_memory)
    assert found['placement_http_requests_total{route0.show,GET,200}'] == 100
    assert sorted(path.name for path in in_memory.iterdir()) == [ended.MERGED, 'lock']
    content = json.loads((in_memory / ended.MERGED).read_text())
    # Of each of 20 routes a count, a sum and a bucket.
    assert len(content['values']) == 60


def test_a_damaged_file_costs_no_other(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    living = counted(tmp_path, 1)
    (tmp_path / 'counter_1-abcdef01.db').write_bytes(b'\xff' * 64)
    (tmp_path / 'counter_2-abcdef02.db').write_bytes(b'')

    assert samples(tmp_path)[FAILURES] == 1
    assert {one.levelno for one in caplog.records} == {logging.WARNING}
    assert 'is damaged' in caplog.text
    living.close()


def test_a_damaged_merged_file_loses_only_what_is_in_it(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    living = counted(tmp_path, 1)
    (tmp_path / ended.MERGED).write_text('{"files": [')

    assert samples(tmp_path)[FAILURES] == 1
    assert 'are lost' in caplog.text
    living.close()


def test_a_damaged_name_loses_only_its_value(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    living = counted(tmp_path, 1)
    values = [['counter', '["placement', 5.0], ['counter', 'null', 5.0]]
    (tmp_path / ended.MERGED).write_text(json.dumps({'files': [], 'values': values}))

    assert samples(tmp_path)[FAILURES] == 1
    assert caplog.text.count('whose name is damaged') == 2
    living.close()


def test_what_another_release_counted_is_left_out(tmp_path: pathlib.Path) -> None:
    key = json.dumps(['placement_of_tomorrow', 'placement_of_tomorrow_total', {}, 'Later.'])
    known = json.dumps(
        ['placement_insight_failures', 'placement_insight_failures_total', {}, 'Other words.']
    )
    content = {'files': [], 'values': [['counter', key, 5.0], ['counter', known, 3.0]]}
    (tmp_path / ended.MERGED).write_text(json.dumps(content))
    living = counted(tmp_path, 1)

    found = samples(tmp_path)
    assert found[FAILURES] == 4
    assert not any('tomorrow' in name for name in found)
    living.close()


def test_who_may_only_read_the_directory_sees_the_same(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_directory: str) -> NoReturn:
        raise PermissionError('the directory belongs to another user')

    living = counted(tmp_path, 1)
    ending = counted(tmp_path, 2)
    ending.set(catalog.POOL_IN_USE, ('primary',), 5)
    ending.close()
    monkeypatch.setattr(ended, 'merge', refuse)

    found = samples(tmp_path)
    assert found[FAILURES] == 3
    assert IN_USE not in found
    assert len(list(tmp_path.glob('counter_*.db'))) == 2
    living.close()


def test_every_metric_has_a_name_that_prometheus_asks_for() -> None:
    for metric in catalog.METRICS:
        is_counter = metric.kind is catalog.Kind.COUNTER
        assert metric.name.endswith('_total') == is_counter, metric.name
        assert metric.name.startswith('placement_')
        assert metric.help.endswith('.')
        assert bool(metric.buckets) == (metric.kind is catalog.Kind.HISTOGRAM)
        assert not metric.values or len(metric.labels) == 1


def test_counters_are_shown_before_anything_is_counted(tmp_path: pathlib.Path) -> None:
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for metric in totals.read(str(tmp_path))
        for sample in metric.samples
    }

    assert set(found.values()) == {0.0}
    assert ('placement_db_transaction_failures_total', 'full') in found
    assert ('placement_insight_failures_total',) in found
    assert samples(tmp_path) == {}


def test_missing_directory_is_an_error(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(totals.read(str(tmp_path / 'missing')))
