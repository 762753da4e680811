# SPDX-License-Identifier: Apache-2.0
"""Modules that libraries import, and that are loaded when a library uses them."""

import importlib
import itertools
import pathlib
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import pytest

from placement import lazy_imports

Write = Callable[[str], str]

_numbers = itertools.count()


@pytest.fixture
def write(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes a module of the given code, and returns its name; it is forgotten after the test."""
    monkeypatch.syspath_prepend(tmp_path)
    written = []

    def write(code: str) -> str:
        name = f'seldom_used_{next(_numbers)}'
        (tmp_path / f'{name}.py').write_text(code)
        importlib.invalidate_caches()
        written.append(name)
        return name

    yield write
    for name in written:
        sys.modules.pop(name, None)


def library_of(name: str, write: Write) -> Any:
    """A library that has imported the module of this name, without loading it, as `used`."""
    library = write(f'import {name} as used')
    with lazy_imports.loaded_when_used(name):
        return importlib.import_module(library)


def test_a_module_is_loaded_when_the_library_uses_it(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    name = write('print("loaded")\nvalue = 5')
    library = library_of(name, write)

    assert name not in sys.modules
    assert capsys.readouterr().out == ''
    assert (library.used.value, library.used.value) == (5, 5)
    assert name in sys.modules
    assert capsys.readouterr().out == 'loaded\n'


def test_others_find_the_genuine_module(write: Write) -> None:
    name = write('class Thing:\n    pass')
    library = library_of(name, write)
    module = importlib.import_module(name)

    assert type(module) is ModuleType
    assert module.Thing is library.used.Thing


def test_a_library_may_use_the_module_while_it_is_imported(write: Write) -> None:
    name = write('value = 5')
    user = write(f'import {name} as used\nvalue = used.value + 1')
    other = write(f'from {name} import value')
    with lazy_imports.loaded_when_used(name):
        assert importlib.import_module(user).value == 6
        assert importlib.import_module(other).value == 5

    assert sys.modules[name].value == 5


def test_every_thread_finds_the_whole_module(write: Write) -> None:
    """The value changes while the module is loaded, and other threads have time to see that."""
    threads = 8
    name = write('value = "half"\nimport time\ntime.sleep(0.05)\nvalue = "whole"\nother = 1')
    library = library_of(name, write)
    barrier = threading.Barrier(threads)

    def read(number: int) -> object:
        barrier.wait()
        return library.used.value if number % 2 else (library.used.other and library.used.value)

    with ThreadPoolExecutor(threads) as pool:
        assert list(pool.map(read, range(threads))) == ['whole'] * threads


def test_a_module_that_cannot_be_loaded_says_so_each_time(write: Write) -> None:
    library = library_of(write('import placement_has_no_such_library'), write)

    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match='placement_has_no_such_library'):
            print(library.used.value)


def test_a_module_that_was_loaded_before_stays(write: Write) -> None:
    name = write('value = 5')
    module = importlib.import_module(name)

    assert library_of(name, write).used is module
    assert sys.modules[name] is module


def test_a_module_is_loaded_when_one_of_its_functions_is_called(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    name = write('print("loaded")\nclass Pair(tuple):\n    pass\ndef add(a, b):\n    return a + b')
    with lazy_imports.loaded_when_called(name, 'Pair', 'add'):
        library: Any = importlib.import_module(write(f'from {name} import Pair, add'))

    assert name not in sys.modules
    assert capsys.readouterr().out == ''
    assert library.add(2, b=3) == 5
    assert type(library.Pair((1, 2))) is importlib.import_module(name).Pair
    assert capsys.readouterr().out == 'loaded\n'


def test_a_module_of_functions_that_was_loaded_before_stays(write: Write) -> None:
    name = write('def add(a, b):\n    return a + b')
    module = importlib.import_module(name)
    with lazy_imports.loaded_when_called(name, 'add'):
        library: Any = importlib.import_module(write(f'from {name} import add'))

    assert library.add is module.add
    assert sys.modules[name] is module


def test_nothing_is_left_of_a_block_that_fails(write: Write) -> None:
    name = write('value = 5')
    with pytest.raises(ZeroDivisionError), lazy_imports.loaded_when_used(name):
        print(1 / 0)

    assert importlib.import_module(name).value == 5
