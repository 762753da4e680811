# SPDX-License-Identifier: Apache-2.0
"""Audits and drains of a cloud that a real nova runs, and its flavors, in its own environment.

Installing nova takes minutes, so this is run by name alone (doc/source/contributing.rst, "Tests").
"""

import os
import pathlib
import subprocess
import sys

import pytest

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
HERE = __name__.rpartition('.')[0]
DISTRIBUTION = pathlib.Path(__file__).parents[3]


@pytest.mark.parametrize(
    ('module', 'ending'),
    [
        (('testtools.run', f'{HERE}.nova_cases'), '\nRan 7 tests in '),
        (('testtools.run', f'{HERE}.nova_drains'), '\nRan 2 tests in '),
        ((f'{HERE}.nova_flavors',), '43 flavors compared\n'),
    ],
    ids=['audits', 'drains', 'flavors'],
)
def test_nova_itself_does_what_is_expected_of_it(
    tmp_path: pathlib.Path, module: tuple[str, ...], ending: str
) -> None:
    requirements = (NOVA, *LIBRARIES, 'gabbi', 'osc-lib', 'osc-placement')
    environment = installation.service_environment('nova', sys.executable, *requirements)
    ended = subprocess.run(
        [str(environment / 'bin' / 'python'), '-m', *module],
        cwd=tmp_path,
        env={**os.environ, 'PYTHONPATH': str(DISTRIBUTION)},
        capture_output=True,
        text=True,
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ending in ended.stdout
