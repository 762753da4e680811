# SPDX-License-Identifier: Apache-2.0
"""When garbage is looked for, and when memory is given back."""

import gc
import platform
import subprocess
import sys
from collections.abc import Iterator

import pytest

from placement import memory


def test_nothing_is_looked_for_during_a_pause() -> None:
    with memory.uncollected():
        assert not gc.isenabled()

    assert gc.isenabled()


def test_a_pause_ends_with_what_failed_in_it() -> None:
    with pytest.raises(ZeroDivisionError), memory.uncollected():
        print(1 / 0)

    assert gc.isenabled()


def test_who_does_without_the_collector_goes_on_without_it() -> None:
    gc.disable()
    try:
        with memory.uncollected():
            pass

        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.fixture
def unfrozen() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures('unfrozen')
def test_the_collector_does_not_look_at_what_a_service_has_loaded() -> None:
    with memory.loading_a_service():
        assert not gc.isenabled()
        loaded = [[1]]

    assert gc.isenabled()
    assert not any(one is loaded for one in gc.get_objects())


@pytest.mark.usefixtures('unfrozen')
def test_the_collector_looks_at_what_a_service_has_loaded_that_could_not_start() -> None:
    with pytest.raises(ZeroDivisionError), memory.loading_a_service():
        print(1 / 0)

    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


ANSWERS = """
import resource
from placement import memory

memory.expect_large_blocks()
for text in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    text = [b'x' * (1 << 20) for _ in range(4)]
    del text
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != 'glibc', reason='of the GNU C library')
def test_the_memory_of_a_large_answer_is_there_for_the_next() -> None:
    run = subprocess.run([sys.executable, '-c', ANSWERS], capture_output=True, check=True)
    # Four megabytes are a thousand pages.
    assert int(run.stdout) < 100
