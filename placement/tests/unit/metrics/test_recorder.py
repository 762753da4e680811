# SPDX-License-Identifier: Apache-2.0
"""Counting in one process: by several threads, after a fork, and on a full disk."""

import errno
import itertools
import logging
import os
import pathlib
import threading
from typing import NoReturn

import pytest

from placement.metrics import catalog
from placement.metrics.recorder import Recorder
from placement.metrics.slot import Slot
from placement.middleware.http_metrics import METHODS, NO_ACTION, OTHER, OUTSIDE_ROUTES
from placement.routes import installed_surface
from placement.tests.unit.metrics.processes import run_in_fork, samples

CODE = ('placement.concurrent_update',)
FAILURES = 'placement_snapshot_full_load_duration_seconds_total{}'


def refuse(*_arguments: object) -> NoReturn:
    raise OSError(errno.ENOSPC, 'No space left on device')


def files(directory: pathlib.Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


@pytest.mark.parametrize('name', ['0.lock', 'counter_0.db', 'counter_0.db.new'])
def test_link_in_the_directory_is_not_followed(name: str, tmp_path: pathlib.Path) -> None:
    directory, elsewhere = tmp_path / 'directory', tmp_path / 'elsewhere'
    directory.mkdir()
    # Files that are not damaged.
    Slot(str(elsewhere)).release()
    before = {path: path.stat() for path in elsewhere.iterdir()}
    directory.joinpath(name).symlink_to(elsewhere / name)

    with pytest.raises(OSError, match='symbolic links'):
        Slot(str(directory))

    assert {path: path.stat() for path in elsewhere.iterdir()} == before


def test_histogram_counts_an_amount_in_each_bucket_that_has_room_for_it(
    recorder: Recorder, tmp_path: pathlib.Path
) -> None:
    for places in (10, 10.5, 1_500_001):
        recorder.observe(catalog.SEARCH_WORK, (), places)

    assert samples(tmp_path) == {
        **{
            f'placement_search_work_places_bucket{{{bound}}}': count
            for bound, count in (
                ('10.0', 1), ('100.0', 2), ('1000.0', 2), ('10000.0', 2), ('100000.0', 2),
                ('500000.0', 2), ('1e+06', 2), ('1.5e+06', 2), ('+Inf', 3),
            )
        },
        'placement_search_work_places_count{}': 3,
        'placement_search_work_places_sum{}': 1_500_021.5,
    }  # fmt: skip


def test_no_count_of_any_thread_is_lost(recorder: Recorder, tmp_path: pathlib.Path) -> None:
    ready = threading.Barrier(4)

    def work() -> None:
        ready.wait()
        for _ in range(500):
            recorder.add(catalog.CONFLICTS, CODE)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert samples(tmp_path) == {'placement_conflicts_total{placement.concurrent_update}': 2000}


def test_a_forked_process_counts_in_a_slot_of_its_own(
    recorder: Recorder, tmp_path: pathlib.Path
) -> None:
    recorder.add(catalog.SNAPSHOT_LOAD_SECONDS)
    recorder.set(catalog.SNAPSHOT_UPDATED, (), 1.0)

    def work() -> None:
        recorder.add(catalog.SNAPSHOT_LOAD_SECONDS, (), 10)

    run_in_fork(work)
    run_in_fork(work)
    recorder.add(catalog.SNAPSHOT_LOAD_SECONDS)

    assert samples(tmp_path) == {
        FAILURES: 22, 'placement_snapshot_updated_timestamp_seconds{}': 1.0
    }  # fmt: skip
    assert {name for name in files(tmp_path) if name.endswith('.lock')} == {'0.lock', '1.lock'}


def test_a_fork_does_not_hold_the_slot_of_a_parent_that_has_ended(tmp_path: pathlib.Path) -> None:
    ready, stop = os.pipe(), os.pipe()

    def parent() -> None:
        recorder = Recorder(str(tmp_path))
        recorder.set(catalog.POOL_IN_USE, ('primary',), 5)
        if os.fork() == 0:
            os.close(stop[1])
            recorder.add(catalog.SNAPSHOT_LOAD_SECONDS)
            os.write(ready[1], b'.')
            os.read(stop[0], 1)
        os._exit(0)

    run_in_fork(parent)
    os.read(ready[0], 1)
    assert samples(tmp_path) == {FAILURES: 1}
    for descriptor in (*ready, *stop):
        os.close(descriptor)


def test_restarts_leave_as_many_files_as_processes_lived_at_once(tmp_path: pathlib.Path) -> None:
    for number in range(40):
        recorder = Recorder(str(tmp_path))
        recorder.add(catalog.HTTP_REQUESTS, (f'route{number % 20}.show', 'GET', '200'))
        recorder.close()

    assert samples(tmp_path)['placement_http_requests_total{route0.show,GET,200}'] == 2
    assert files(tmp_path) == {
        '0.lock', 'counter_0.db', 'histogram_0.db', 'gauge_livesum_0.db', 'gauge_livemin_0.db',
    }  # fmt: skip


def test_a_damaged_file_is_removed_by_the_next_process_of_the_slot(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / 'counter_0.db').write_bytes(b'\xff' * 64)
    recorder = Recorder(str(tmp_path))
    recorder.add(catalog.SNAPSHOT_LOAD_SECONDS)

    assert samples(tmp_path) == {FAILURES: 1}
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert 'counter_0.db is damaged' in caplog.text
    recorder.close()


def test_all_series_have_their_place_on_the_disk_from_the_start(
    recorder: Recorder, tmp_path: pathlib.Path
) -> None:
    """Check that no file grows: files are mapped, and growth on a full disk ends the process."""
    sizes = {path: path.stat().st_size for path in tmp_path.glob('*.db')}
    for path, size in sizes.items():
        assert path.stat().st_blocks * 512 >= size > 0
    actions = {(route.action, route.method) for route in installed_surface().routes}
    outside = itertools.product([NO_ACTION, *OUTSIDE_ROUTES.values()], [*METHODS, OTHER])
    for action, method in (*actions, *outside):
        recorder.observe(catalog.HTTP_DURATION, (action, method), 0.1)
        for status in range(200, 216):
            recorder.add(catalog.HTTP_REQUESTS, (action, method, str(status)))

    assert recorder.failures == 0
    assert {path: path.stat().st_size for path in sizes} == sizes
    assert len(installed_surface().routes) > 40


def test_a_full_disk_costs_no_request_and_one_line(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, 'posix_fallocate', refuse)
        recorder = Recorder(str(tmp_path))
        recorder.watch(catalog.POOL_IN_USE, ('primary',), lambda: 1)
        recorder.add(catalog.SNAPSHOT_LOAD_SECONDS)
        recorder.set(catalog.POOL_IN_USE, ('primary',), 1)
        recorder.observe(catalog.SEARCH_WORK, (), 1)
        recorder.update_gauges()
    assert recorder.failures == 5
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert 'Metrics cannot be written' in caplog.text
    assert 'No space left on device' in caplog.text
    assert not list(tmp_path.glob('*.db'))

    recorder.add(catalog.SNAPSHOT_LOAD_SECONDS)
    assert samples(tmp_path) == {FAILURES: 1}
    assert '1.lock' not in files(tmp_path)
    recorder.close()


def test_a_directory_that_is_made_possible_later_is_made_then(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / 'run').touch()
    recorder = Recorder(str(tmp_path / 'run' / 'metrics'))
    recorder.add(catalog.SNAPSHOT_LOAD_SECONDS)
    assert recorder.failures == 2
    assert [record.levelno for record in caplog.records] == [logging.ERROR]

    (tmp_path / 'run').unlink()
    recorder.add(catalog.SNAPSHOT_LOAD_SECONDS)
    assert samples(tmp_path / 'run' / 'metrics') == {FAILURES: 1}
    # It is for this user alone.
    assert (tmp_path / 'run' / 'metrics').stat().st_mode & 0o007 == 0
    recorder.close()
