# SPDX-License-Identifier: Apache-2.0
"""Importing libraries without what they import themselves, and this service seldom uses."""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any


@contextlib.contextmanager
def loaded_when_used(*names: str) -> Iterator[None]:
    """Let what is imported in a block of code load these modules when it first uses them.

    Names are full. Whoever imports such a module in the block as a whole keeps a stand-in, which
    reads as the genuine module. Everybody else imports that itself, so each class is there once.
    Where a module was loaded before, nothing is left to save.

    The block may not import a part of one of these modules, which would be loaded twice.
    """
    missing = {name: _StandIn(name) for name in names if name not in sys.modules}
    sys.modules.update(missing)
    try:
        yield
    finally:
        for stand_in in missing.values():
            _forget(stand_in)


@contextlib.contextmanager
def loaded_when_called(name: str, *functions: str) -> Iterator[None]:
    """Let what is imported in a block load a module when one of these functions is called.

    As `loaded_when_used`, for a module of which only these functions are imported, by name. They
    may be classes that are only instantiated. Whoever imports one in the block keeps a function
    that calls the genuine one.
    """
    stand_in = ModuleType(name)
    for function in functions:
        setattr(stand_in, function, functools.partial(_call, name, function))
    is_missing = sys.modules.setdefault(name, stand_in) is stand_in
    try:
        yield
    finally:
        if is_missing:
            _forget(stand_in)


def _call(module: str, function: str, *arguments: Any, **named: Any) -> Any:
    return getattr(importlib.import_module(module), function)(*arguments, **named)


class _StandIn(ModuleType):
    """Has the attributes of the module of its name, imported when one of them is read.

    That is left to the import system, which lets other threads wait until the module is whole.
    The lazy loader of the standard library does not, before Python 3.12.3; and it loads a part of
    a package twice if that is what somebody imports first.
    """

    def __getattr__(self, name: str) -> Any:
        _forget(self)
        return getattr(importlib.import_module(self.__name__), name)


def _forget(stand_in: ModuleType) -> None:
    """From now on, importing the module imports the genuine one."""
    if sys.modules.get(stand_in.__name__) is stand_in:
        del sys.modules[stand_in.__name__]
