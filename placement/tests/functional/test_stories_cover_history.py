# SPDX-License-Identifier: Apache-2.0
"""Every microversion has a story that is told on both of its sides."""

import functools
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from placement import history

from .test_api import STORIES

VERSION = re.compile(r'placement 1\.(\d+)\b')
NEWEST = max(minor for _, minor in history.APIS)


# Whoever is told so was not answered at the version that was asked for, which need not exist.
UNHEARD = (401, 406)


@functools.cache
def versions_by_story() -> dict[str, set[int]]:
    """The minor versions at which each story is answered."""
    return {path.stem: set(spoken(yaml.safe_load(path.read_text()))) for path in STORIES}


def spoken(story: dict[str, Any]) -> Iterator[int]:
    """The minor versions of the requests of a story."""
    defaults = story.get('defaults', {})
    for request in story['tests']:
        if request.get('status') not in UNHEARD:
            headers = defaults.get('request_headers', {}) | request.get('request_headers', {})
            yield from map(int, VERSION.findall(headers.get('openstack-api-version', '')))


@pytest.mark.parametrize('minor', range(1, NEWEST + 1))
def test_both_sides_of_a_version_are_told_in_one_story(minor: int) -> None:
    told = [name for name, spoken in versions_by_story().items() if {minor - 1, minor} <= spoken]
    assert told, f'no story speaks both 1.{minor - 1} and 1.{minor}'


@pytest.mark.parametrize('path', STORIES, ids=[path.stem for path in STORIES])
def test_a_story_names_each_request_once(path: pathlib.Path) -> None:
    story = yaml.safe_load(path.read_text())
    names = [request['name'] for request in story['tests']]
    assert len(names) == len(set(names))
