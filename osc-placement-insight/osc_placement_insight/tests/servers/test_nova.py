# SPDX-License-Identifier: Apache-2.0
"""Audits and drains of a cloud that a real nova runs, and its flavors, in its own environment.

Installing nova takes minutes, so this is run by name alone (doc/source/contributing.rst, "Tests").
"""

import os
import pathlib
import subprocess
import sys

from placement.tests.servers import installation

NOVA = 'nova==34.0.0'
#: What the functional tests of nova import.
LIBRARIES = (
    'ddt',
    'fixtures',
    'oslotest',
    'osprofiler',
    'requests-mock',
    'testtools',
    'wsgi-intercept',
)
FLAVORS = 'osc_placement_insight.tests.servers.nova_flavors'
CASES = 'osc_placement_insight.tests.servers.nova_cases'
DRAINS = 'osc_placement_insight.tests.servers.nova_drains'
DISTRIBUTION = pathlib.Path(__file__).parents[3]


def run_beside_nova(directory: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments in an environment that has nova."""
    requirements = (NOVA, *LIBRARIES, 'gabbi', 'osc-lib', 'osc-placement')
    environment = installation.service_environment('nova', sys.executable, *requirements)
    return subprocess.run(
        [str(environment / 'bin' / 'python'), *arguments],
        cwd=directory,
        env={**os.environ, 'PYTHONPATH': str(DISTRIBUTION)},
        capture_output=True,
        text=True,
    )


def test_audits_of_a_cloud_that_nova_runs(tmp_path: pathlib.Path) -> None:
    ended = run_beside_nova(tmp_path, '-m', 'testtools.run', CASES)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert '\nRan 7 tests in ' in ended.stdout


def test_drains_of_a_cloud_that_nova_runs(tmp_path: pathlib.Path) -> None:
    ended = run_beside_nova(tmp_path, '-m', 'testtools.run', DRAINS)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert '\nRan 2 tests in ' in ended.stdout


def test_flavors_are_asked_for_as_nova_asks_for_them(tmp_path: pathlib.Path) -> None:
    ended = run_beside_nova(tmp_path, '-m', FLAVORS)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.endswith('43 flavors compared\n')
