# SPDX-License-Identifier: Apache-2.0
"""Release notes: in the sections that reno knows, about options that exist."""

import pathlib
import re

import pytest
import yaml

from placement.conf import opts
from placement.tests.functional.fixtures import applications

NOTES = sorted(applications.repository_path('releasenotes/notes').glob('*.yaml'))
FIRST_RELEASE = 'first-release-3515004bb10717f5.yaml'

SECTIONS = {
    'prelude', 'features', 'issues', 'upgrade', 'deprecations', 'critical', 'security', 'fixes',
    'other',
}  # fmt: skip

# An option with its group, as notes and pages write it, maybe with a value.
OPTION = re.compile(r'``\[(\w+)\]\s+(\w+)(?:\s+=[^`]*)?``')

# Groups whose options are those of libraries.
OF_LIBRARIES = {'keystone_authtoken', 'oslo_middleware'}


@pytest.mark.parametrize('path', NOTES, ids=[path.stem for path in NOTES])
def test_a_note_has_known_sections_and_options(path: pathlib.Path) -> None:
    text = path.read_text()
    declared = {
        (str(group), option.name) for group, options in opts.list_opts() for option in options
    }
    named = {place for place in OPTION.findall(text) if place[0] not in OF_LIBRARIES}

    assert re.search(r'-[0-9a-f]{16}$', path.stem)
    assert yaml.safe_load(text).keys() <= SECTIONS
    assert named <= declared


def test_the_note_of_the_first_release_is_one_page() -> None:
    (path,) = (path for path in NOTES if path.name == FIRST_RELEASE)

    assert len(path.read_text().splitlines()) <= 100
