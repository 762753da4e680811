# SPDX-License-Identifier: Apache-2.0
"""When garbage is looked for."""

import gc

import pytest

from placement import collector


def test_nothing_is_looked_for_during_a_pause() -> None:
    with collector.paused():
        assert not gc.isenabled()

    assert gc.isenabled()


def test_a_pause_ends_with_what_failed_in_it() -> None:
    with pytest.raises(ZeroDivisionError), collector.paused():
        print(1 / 0)

    assert gc.isenabled()


def test_who_does_without_the_collector_goes_on_without_it() -> None:
    gc.disable()
    try:
        with collector.paused():
            pass

        assert not gc.isenabled()
    finally:
        gc.enable()
