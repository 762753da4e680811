# SPDX-License-Identifier: Apache-2.0
"""Sums over several processes, those included that have ended."""

import dataclasses
import pathlib
import random
import struct
import threading

import pytest

from placement.metrics import catalog, endpoint
from placement.metrics.catalog import METRICS
from placement.metrics.recorder import Recorder
from placement.tests.unit.metrics.processes import samples

FAILURES = 'placement_snapshot_full_load_duration_seconds_total{}'
IN_USE = 'placement_db_pool_connections_in_use{primary}'
UPDATED = 'placement_snapshot_updated_timestamp_seconds{}'

# Number of restarts of a process during scrapes.
RESTARTS = 40


def counted(directory: pathlib.Path, failures: float) -> Recorder:
    """A process that has counted a number of failures."""
    recorder = Recorder(str(directory))
    recorder.add(catalog.SNAPSHOT_LOAD_SECONDS, (), failures)
    recorder.observe(catalog.SEARCH_WORK, (), failures)
    return recorder


def test_counts_of_processes_are_added_up(tmp_path: pathlib.Path) -> None:
    recorders = [counted(tmp_path, number) for number in (1, 2, 4)]

    shown = samples(tmp_path)
    assert shown[FAILURES] == 7
    assert shown['placement_search_work_places_count{}'] == 3
    for recorder in recorders:
        recorder.close()
    # They stay when their processes have ended.
    assert samples(tmp_path) == shown


def test_gauges_of_ended_processes_end(tmp_path: pathlib.Path) -> None:
    recorders = [Recorder(str(tmp_path)) for _ in range(3)]
    for recorder, at in zip(recorders, (30.0, 10.0, 20.0), strict=True):
        recorder.set(catalog.POOL_IN_USE, ('primary',), at)
        recorder.set(catalog.SNAPSHOT_UPDATED, (), at)
    shown = samples(tmp_path)
    assert (shown[IN_USE], shown[UPDATED]) == (60.0, 10.0)

    recorders[1].close()
    shown = samples(tmp_path)
    assert (shown[IN_USE], shown[UPDATED]) == (50.0, 20.0)
    # The next process of the slot does not have them either.
    recorders[1].add(catalog.SNAPSHOT_LOAD_SECONDS)
    shown = samples(tmp_path)
    assert (shown[IN_USE], shown[UPDATED]) == (50.0, 20.0)
    for recorder in recorders:
        recorder.close()
    assert not {IN_USE, UPDATED} & samples(tmp_path).keys()


def test_releases_with_other_words_of_help_count_the_same(tmp_path: pathlib.Path) -> None:
    recorders = []
    for number in (1.0, 2.0):
        recorder = Recorder(str(tmp_path))
        for metric in (catalog.SNAPSHOT_UPDATED, catalog.POOL_IN_USE):
            older = dataclasses.replace(metric, help=f'As release {number} has it.')
            recorder.set(older, ('primary',)[: len(metric.labels)], number)
        recorders.append(recorder)
    # What this release does not know is left out.
    later = dataclasses.replace(catalog.SNAPSHOT_LOAD_SECONDS, name='placement_of_tomorrow_total')
    recorders[0].add(later)

    shown = samples(tmp_path)
    assert (shown[UPDATED], shown[IN_USE]) == (1.0, 3.0)
    assert not any('tomorrow' in name for name in shown)
    for recorder in recorders:
        recorder.close()


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
    shown = [0.0]
    while shown[-1] < RESTARTS and thread.is_alive():
        shown.append(samples(tmp_path).get(FAILURES, 0.0))
    stop.set()
    thread.join()

    assert shown == sorted(shown)
    assert shown[-1] >= RESTARTS
    assert samples(tmp_path)[FAILURES] == total


@pytest.mark.parametrize('damage', [b'', b'\xff' * 64, b'\x40\0\0\0' + b'\0' * 20, 'cut', 'value'])
def test_a_damaged_file_is_an_error(tmp_path: pathlib.Path, damage: bytes | str) -> None:
    """Refuse a sum without the damaged file: it would look like a restart of all processes."""
    living = counted(tmp_path, 1)
    path = tmp_path / 'counter_0.db'
    content = path.read_bytes()
    used = int.from_bytes(content[:4], 'little')
    damages = {'cut': content[: used - 8], 'value': content[: used - 16] + b'\xff' * 16}
    new = damages[damage] if isinstance(damage, str) else damage
    (tmp_path / 'counter_1.db').write_bytes(new)

    with pytest.raises((ValueError, RuntimeError, struct.error)):
        samples(tmp_path)
    living.close()


def test_counters_are_shown_before_anything_is_counted(tmp_path: pathlib.Path) -> None:
    shown = {
        (sample.name, *sample.labels.values()): sample.value
        for metric in endpoint.read_counts(str(tmp_path), METRICS)
        for sample in metric.samples
    }

    assert set(shown.values()) == {0.0}
    assert ('placement_db_transaction_failures_total', 'full') in shown
    assert ('placement_snapshot_full_load_duration_seconds_total',) in shown
    assert samples(tmp_path) == {}
