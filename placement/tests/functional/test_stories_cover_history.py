# SPDX-License-Identifier: Apache-2.0
"""Every microversion has a story that is told on both of its sides."""

import pathlib
import re

import pytest
import yaml

from .test_api import STORIES

VERSION = re.compile(r'placement 1\.(\d+)\b')
NEWEST = 39


def versions_by_story() -> dict[str, set[int]]:
    """The minor versions that each story speaks."""
    return {path.stem: set(map(int, VERSION.findall(path.read_text()))) for path in STORIES}


@pytest.mark.parametrize('minor', range(1, NEWEST + 1))
def test_both_sides_of_a_version_are_told_in_one_story(minor: int) -> None:
    told = [name for name, spoken in versions_by_story().items() if {minor - 1, minor} <= spoken]
    assert told, f'no story speaks both 1.{minor - 1} and 1.{minor}'


@pytest.mark.parametrize('path', STORIES, ids=[path.stem for path in STORIES])
def test_a_story_names_each_request_once(path: pathlib.Path) -> None:
    story = yaml.safe_load(path.read_text())
    names = [request['name'] for request in story['tests']]
    assert len(names) == len(set(names))
