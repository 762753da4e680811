# SPDX-License-Identifier: Apache-2.0
"""Tells every story in gabbits/ to the service.

One story is one test, on a database of its own, so that stories can be told in any order and by
several processes; one request is one subtest, named as the story names it.
"""

import pathlib
import unittest
from typing import Any

import pytest
from gabbi import handlers as gabbi_handlers
from gabbi import reporter, suite, suitemaker, utils

from . import assertions
from .conformance import conforming
from .fixtures import applications, stories

STORIES = sorted(applications.repository_path('gabbits').glob('*.yaml'))


def load_story(path: pathlib.Path) -> suite.GabbiSuite:
    """The requests of one story, to be sent in their order."""
    story = utils.load_yaml(yaml_file=path)
    assertions.check_that_something_is_said(story)
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
        story,
        str(path.parent),
        'placement.example',
        80,
        stories,
        lambda: conforming(stories.application),
        handlers=handlers,
        test_loader_name=__name__,
    )


@pytest.mark.parametrize('path', STORIES, ids=[path.stem for path in STORIES])
def test_story(path: pathlib.Path, subtests: pytest.Subtests) -> None:
    story = load_story(path)
    result = reporter.PyTestResult()
    story.start(result)
    try:
        for request in story:
            with subtests.test(request.test_data['name']):
                request(result)
    finally:
        story.stop()


def test_there_are_stories() -> None:
    assert STORIES, 'gabbits/ holds no story'
