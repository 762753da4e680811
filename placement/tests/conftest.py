# SPDX-License-Identifier: Apache-2.0
"""Settings of every test."""

import configparser
import os
import pathlib
import subprocess
import sys
from importlib import metadata

import hypothesis
import pytest

# The same examples each time, and however busy the machine is: no test asserts a time.
hypothesis.settings.register_profile(
    'placement',
    deadline=None,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile('placement')

# Settings of every service of the tests, those in other processes included. A transaction is
# refused that writes a table of which others read, and names no change of it. No service warns
# that a request was slow, which depends on how busy the machine is.
SETTINGS = {'OS_PLACEMENT__CHECK_CHANGES': 'true', 'OS_PLACEMENT__SLOW_REQUEST_SECONDS': '0'}
os.environ |= SETTINGS

REPOSITORY = pathlib.Path(__file__).parents[2]


def declared_entry_points() -> set[tuple[str, str]]:
    """The group and the text of each entry point that this tree declares."""
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(REPOSITORY / 'setup.cfg')
    # A copy of the tests has no setup.cfg.
    groups = setup['options.entry_points'].items() if setup.sections() else ()
    return {(group, line) for group, lines in groups for line in lines.split('\n') if line}


def installed_entry_points() -> set[tuple[str, str]]:
    """The same, of the distribution that is installed."""
    found = metadata.distribution('openstack-placement').entry_points
    return {(entry.group, f'{entry.name} = {entry.value}') for entry in found}


def pytest_configure(config: pytest.Config) -> None:
    """Install this tree again where its entry points have changed.

    An editable installation follows the code, and not them; the extensions are found by them.
    """
    is_worker = hasattr(config, 'workerinput')
    if is_worker or not declared_entry_points() - installed_entry_points():
        return
    pip = [sys.executable, '-m', 'pip', 'install', '--disable-pip-version-check', '--quiet']
    options = ['--no-deps', '--no-build-isolation', '--editable', str(REPOSITORY)]
    subprocess.run([*pip, *options], check=True)
