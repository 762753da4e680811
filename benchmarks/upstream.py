# SPDX-License-Identifier: Apache-2.0
"""Upstream (`openstack-placement` 16), installed from PyPI in an environment of its own."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from collections.abc import Mapping

REQUIREMENT = 'openstack-placement==16.0.0'
# The newest microversion of that release: both services have to answer the same requests.
MICROVERSION = '1.39'
# The same servers and drivers as ours, except on PostgreSQL: with psycopg 3 it answers 500.
COMPANIONS = ('waitress', 'pyuwsgi', 'PyMySQL', 'psycopg2-binary')
DRIVERS = {'postgresql+psycopg:': 'postgresql+psycopg2:'}


def chosen(python: str | None) -> tuple[str, Mapping[str, str]]:
    """The Python and the drivers of upstream, or of this service where no Python is named."""
    return (python, DRIVERS) if python else (sys.executable, {})


def install(directory: pathlib.Path, constraints: pathlib.Path) -> str:
    """The Python of an environment that has upstream, created when it does not exist.

    Libraries that both services use have the same versions in both environments.

    :raises subprocess.CalledProcessError: it cannot be installed
    """
    python = directory / 'bin' / 'python'
    stamp = directory / '.ready'
    wanted = '\n'.join((REQUIREMENT, *COMPANIONS, constraints.read_text()))
    if stamp.exists() and stamp.read_text() == wanted:
        return str(python)
    print(f'==> installing {REQUIREMENT} in {directory}', file=sys.stderr, flush=True)
    subprocess.run([sys.executable, '-m', 'venv', str(directory)], check=True)
    subprocess.run(
        [
            str(python), '-m', 'pip', '--quiet', '--quiet', '--disable-pip-version-check',
            'install', '--constraint', str(constraints), REQUIREMENT, *COMPANIONS,
        ],
        check=True,
    )  # fmt: skip
    stamp.write_text(wanted)
    return str(python)
