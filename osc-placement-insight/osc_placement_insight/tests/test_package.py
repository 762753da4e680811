# SPDX-License-Identifier: Apache-2.0
"""The distribution stands alone, and gives the client each of its commands."""

import ast
import configparser
import importlib.metadata
import pathlib
import re
import sys
from collections.abc import Iterator

import pytest

from osc_placement_insight.tests.client import Client

PACKAGE = pathlib.Path(__file__).parents[1]
DISTRIBUTION = PACKAGE.parent
GROUP = 'openstack.placement.v1'

#: The distribution that has each library.
LIBRARIES = {
    'cliff': 'cliff',
    'keystoneauth1': 'keystoneauth1',
    'openstack': 'openstacksdk',
    'osc_lib': 'osc-lib',
    'osc_placement': 'osc-placement',
    'requests': 'requests',
    'yaml': 'PyYAML',
}


@pytest.fixture(scope='module')
def setup() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(DISTRIBUTION / 'setup.cfg')
    return parser


def modules() -> list[pathlib.Path]:
    """What a laptop gets: not the tests, which use the service."""
    return [path for path in PACKAGE.rglob('*.py') if 'tests' not in path.parts]


def imported(path: pathlib.Path) -> Iterator[str]:
    """The packages that a module imports, itself aside."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition('.')[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f'{path} has a relative import'
            yield (node.module or '').partition('.')[0]


def test_it_imports_nothing_of_the_service_and_only_what_it_requires(
    setup: configparser.ConfigParser,
) -> None:
    found = {name for path in modules() for name in imported(path)}
    libraries = found - {PACKAGE.name, *sys.stdlib_module_names}

    required = re.findall(r'^([\w.-]+)', setup['options']['install_requires'], re.MULTILINE)
    assert {LIBRARIES[name] for name in libraries} <= {*required}


def test_each_entry_point_of_the_sources_is_installed_and_loads(
    setup: configparser.ConfigParser,
) -> None:
    """Of an environment that is older than setup.cfg: `pip install --editable`, or `egg_info`."""
    declared = dict(
        line.split(' = ') for line in setup['options.entry_points'][GROUP].strip().splitlines()
    )
    installed = {
        point.name: point
        for point in importlib.metadata.entry_points(group=GROUP)
        if point.value.startswith(PACKAGE.name)
    }
    assert {name: point.value for name, point in installed.items()} == declared
    for point in installed.values():
        point.load()


def test_the_version_is_that_of_the_service(setup: configparser.ConfigParser) -> None:
    service = configparser.ConfigParser(interpolation=None)
    service.read(DISTRIBUTION.parent / 'setup.cfg')

    assert setup['metadata']['version'] == service['metadata']['version']


def test_the_client_completes_each_command(setup: configparser.ConfigParser) -> None:
    script = Client({})('complete').out
    points = setup['options.entry_points'][GROUP].strip().splitlines()

    for command in (line.partition(' = ')[0] for line in points):
        (options,) = re.findall(rf"^ +cmds_{command}='(.*)'$", script, re.MULTILINE)
        assert '--format' in options or '--help' in options
