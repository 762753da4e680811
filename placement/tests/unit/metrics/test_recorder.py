# SPDX-License-Identifier: Apache-2.0
"""Counting in one process: with the requests of threads, after a fork, and on a full disk."""

import errno
import logging
import os
import pathlib
import threading
from collections.abc import Iterator
from typing import NoReturn

import pytest

from placement.metrics import catalog, process_files
from placement.metrics.recorder import Recorder
from placement.tests.unit.metrics.processes import run_in_fork, samples

CODE = ('placement.concurrent_update',)


@pytest.fixture
def recorder(tmp_path: pathlib.Path) -> Iterator[Recorder]:
    """A recorder on an empty directory."""
    recorder = Recorder(str(tmp_path))
    yield recorder
    recorder.close()


def test_nothing_is_shown_before_it_is_written(recorder: Recorder, tmp_path: pathlib.Path) -> None:
    recorder.add(catalog.CONFLICTS, CODE)
    recorder.add(catalog.CONFLICTS, CODE, 2)
    assert samples(tmp_path) == {}

    recorder.write()
    assert samples(tmp_path) == {'placement_conflicts_total{placement.concurrent_update}': 3}


def test_what_is_written_is_not_written_again(recorder: Recorder, tmp_path: pathlib.Path) -> None:
    recorder.add(catalog.INSIGHT_FAILURES)
    recorder.write()
    recorder.write()
    recorder.add(catalog.INSIGHT_FAILURES)
    recorder.write()

    assert samples(tmp_path) == {'placement_insight_failures_total{}': 2}


def test_histogram_counts_an_amount_in_each_bucket_that_has_room_for_it(
    recorder: Recorder, tmp_path: pathlib.Path
) -> None:
    for places in (10, 10.5, 1_500_001):
        recorder.observe(catalog.SEARCH_WORK, (), places)
    recorder.write()

    found = samples(tmp_path)
    assert found['placement_search_work_places_bucket{10.0}'] == 1
    assert found['placement_search_work_places_bucket{100.0}'] == 2
    assert found['placement_search_work_places_bucket{1.5e+06}'] == 2
    assert found['placement_search_work_places_bucket{+Inf}'] == 3
    assert found['placement_search_work_places_count{}'] == 3
    assert found['placement_search_work_places_sum{}'] == 1_500_021.5


def test_gauge_is_shown_at_once(recorder: Recorder, tmp_path: pathlib.Path) -> None:
    recorder.set(catalog.POOL_IN_USE, ('primary',), 3)
    recorder.set(catalog.POOL_IN_USE, ('primary',), 2)

    assert samples(tmp_path) == {'placement_db_pool_connections_in_use{primary}': 2}


def test_no_count_of_any_thread_is_lost(recorder: Recorder, tmp_path: pathlib.Path) -> None:
    ready = threading.Barrier(4)

    def work() -> None:
        ready.wait()
        for _ in range(500):
            recorder.add(catalog.CONFLICTS, CODE)
            recorder.write()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert samples(tmp_path) == {'placement_conflicts_total{placement.concurrent_update}': 2000}


def test_a_forked_process_counts_in_files_of_its_own(
    recorder: Recorder, tmp_path: pathlib.Path
) -> None:
    recorder.add(catalog.INSIGHT_FAILURES)
    recorder.write()

    def work() -> None:
        recorder.add(catalog.INSIGHT_FAILURES, (), 10)
        recorder.write()

    run_in_fork(work)
    run_in_fork(work)
    recorder.add(catalog.INSIGHT_FAILURES)
    recorder.write()

    assert samples(tmp_path) == {'placement_insight_failures_total{}': 22}


def test_values_go_on_where_a_file_has_to_grow(recorder: Recorder, tmp_path: pathlib.Path) -> None:
    for number in range(1, 1_001):
        recorder.add(catalog.CONFLICTS, (f'code.{number}',), number)
    recorder.write()

    found = samples(tmp_path)
    assert len(found) == 1_000
    assert found['placement_conflicts_total{code.999}'] == 999
    (path,) = tmp_path.glob('counter_*.db')
    # All of it has its place on the disk.
    assert path.stat().st_blocks * 512 >= path.stat().st_size > 1 << 16


def test_directory_is_made_for_this_user_alone(tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'run' / 'metrics'
    Recorder(str(path)).close()

    assert path.stat().st_mode & 0o007 == 0


def test_a_full_disk_costs_no_request_and_one_line(
    recorder: Recorder,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse(*_arguments: object) -> NoReturn:
        raise OSError(errno.ENOSPC, 'No space left on device')

    with monkeypatch.context() as patch:
        patch.setattr(os, 'posix_fallocate', refuse)
        for _ in range(3):
            recorder.add(catalog.INSIGHT_FAILURES)
            recorder.set(catalog.POOL_IN_USE, ('primary',), 1)
            recorder.write()
    assert recorder.failures == 6
    assert [one.levelno for one in caplog.records] == [logging.ERROR]
    assert 'Metrics cannot be written' in caplog.text
    assert 'No space left on device' in caplog.text
    assert not list(tmp_path.glob('*.db*'))

    recorder.add(catalog.INSIGHT_FAILURES)
    recorder.write()
    # What was counted meanwhile is there.
    assert samples(tmp_path) == {'placement_insight_failures_total{}': 4}


def test_a_full_disk_takes_no_space_later(
    recorder: Recorder, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object) -> NoReturn:
        raise OSError(errno.ENOSPC, 'No space left on device')

    def count_code(number: int) -> None:
        recorder.add(catalog.CONFLICTS, (f'code.{number}',))
        recorder.write()

    count_code(0)
    with monkeypatch.context() as patch:
        patch.setattr(os, 'posix_fallocate', refuse)
        for number in range(2_000):
            count_code(number % 500)
    for number in range(500):
        count_code(number)

    (path,) = tmp_path.glob('counter_*.db')
    assert path.stat().st_size == 1 << 17


def test_a_directory_that_is_made_possible_later_is_made_then(tmp_path: pathlib.Path) -> None:
    (tmp_path / 'run').touch()
    recorder = Recorder(str(tmp_path / 'run' / 'metrics'))
    (tmp_path / 'run').unlink()
    recorder.add(catalog.INSIGHT_FAILURES)
    recorder.write()

    assert samples(tmp_path / 'run' / 'metrics') == {'placement_insight_failures_total{}': 1}
    recorder.close()


def test_a_defect_costs_no_request(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_arguments: object) -> NoReturn:
        raise IndexError('beyond the end')

    monkeypatch.setattr(process_files.ProcessFiles, 'add', fail)
    monkeypatch.setattr(process_files.ProcessFiles, 'set', fail)
    recorder.add(catalog.INSIGHT_FAILURES)
    recorder.write()
    recorder.set(catalog.POOL_IN_USE, ('primary',), 1)

    assert recorder.failures == 2
    assert 'beyond the end' in caplog.text


def test_a_directory_that_cannot_be_made_costs_no_start(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / 'file').touch()
    recorder = Recorder(str(tmp_path / 'file' / 'metrics'))
    recorder.add(catalog.INSIGHT_FAILURES)
    recorder.write()

    assert recorder.failures == 2
    assert [one.levelno for one in caplog.records] == [logging.ERROR]
