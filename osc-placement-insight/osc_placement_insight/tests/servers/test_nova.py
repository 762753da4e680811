# SPDX-License-Identifier: Apache-2.0
"""Audits of a cloud that a real nova runs, in an environment of its own.

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
CASES = 'osc_placement_insight.tests.servers.nova_cases'
DISTRIBUTION = pathlib.Path(__file__).parents[3]


def test_audits_of_a_cloud_that_nova_runs(tmp_path: pathlib.Path) -> None:
    requirements = (NOVA, *LIBRARIES, 'gabbi', 'osc-lib', 'osc-placement')
    environment = installation.service_environment('nova', sys.executable, *requirements)

    ended = subprocess.run(
        [str(environment / 'bin' / 'python'), '-m', 'testtools.run', CASES],
        cwd=tmp_path,
        env={**os.environ, 'PYTHONPATH': str(DISTRIBUTION)},
        capture_output=True,
        text=True,
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert '\nRan 10 tests in ' in ended.stdout
