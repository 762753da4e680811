# SPDX-License-Identifier: Apache-2.0
"""Runs every gabbi file of gabbits/, and of insight if installed, against the service.

One file is one test, on a database of its own, so that files can be run in any order and by
several processes; one gabbi test (a request and what is expected of its answer) is one subtest.
"""

import io
import pathlib
import unittest
from typing import Any

import pytest
from gabbi import handlers as gabbi_handlers
from gabbi import reporter, suite, suitemaker, utils

from placement import microversions

from . import assertions
from .conformance import conforming
from .fixtures import applications, gabbi_fixtures

# Gabbi files name the newest microversion, and the one after it, by these words, so that a new
# microversion does not change what they say about the bounds.
MAJOR, MINOR = max(microversions.APIS)
VARIABLES = {'$NEWEST': f'{MAJOR}.{MINOR}', '$NEXT': f'{MAJOR}.{MINOR + 1}'}

GABBI_FILES = [
    path
    for directory in ('gabbits', 'placement_insight/gabbits')
    for path in sorted(applications.repository_path(directory).glob('*.yaml'))
]


def load_suite(path: pathlib.Path) -> suite.GabbiSuite:
    """The gabbi tests of one file, to be run in their order."""
    text = path.read_text()
    for name, value in VARIABLES.items():
        text = text.replace(name, value)
    tests = utils.load_yaml(handle=io.StringIO(text))
    assertions.check_every_test_expects_something(tests)
    handlers: list[Any] = [
        handler()
        for handler in (
            *assertions.CONTENT_HANDLERS,
            *assertions.RESPONSE_HANDLERS,
            *gabbi_handlers.RESPONSE_HANDLERS,
        )
    ]
    return suitemaker.test_suite_from_dict(
        unittest.defaultTestLoader,
        path.stem,
        tests,
        str(path.parent),
        'placement.example',
        80,
        gabbi_fixtures,
        lambda: conforming(gabbi_fixtures.application),
        handlers=handlers,
        test_loader_name=__name__,
    )


@pytest.mark.parametrize('path', GABBI_FILES, ids=[path.stem for path in GABBI_FILES])
def test_gabbi_file(path: pathlib.Path, subtests: pytest.Subtests) -> None:
    tests = load_suite(path)
    result = reporter.PyTestResult()
    tests.start(result)
    try:
        for request in tests:
            with subtests.test(request.test_data['name']):
                request(result)
    finally:
        tests.stop()
