# SPDX-License-Identifier: Apache-2.0
"""The distributions of clients stand alone."""

import ast
import configparser
import pathlib
import re
import sys
from collections.abc import Iterator

import pytest

PACKAGE = pathlib.Path(__file__).parents[1]
DISTRIBUTION = PACKAGE.parent

#: The distribution that has each library.
LIBRARIES = {
    'keystoneauth1': 'keystoneauth1',
    'osc_lib': 'osc-lib',
    'requests': 'requests',
    'yaml': 'PyYAML',
}


def metadata(distribution: pathlib.Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(distribution / 'setup.cfg')
    return parser


def imported(path: pathlib.Path) -> Iterator[str]:
    """The packages that a module imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition('.')[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f'{path} has a relative import'
            yield (node.module or '').partition('.')[0]


#: The libraries that each distribution requires for its entry points alone.
NOT_IMPORTED: dict[str, set[str]] = {
    'osc-placement-insight': {'cliff', 'osc-placement'},
    'placement-report-client': set(),
}


@pytest.mark.parametrize('name', NOT_IMPORTED)
def test_it_has_the_version_of_the_service_and_requires_what_it_uses_alone(name: str) -> None:
    distribution = DISTRIBUTION.parent / name
    package = distribution / name.replace('-', '_')
    setup, service = metadata(distribution), metadata(DISTRIBUTION.parent)
    # The tests, which use the service, are not installed.
    paths = [
        path for path in package.rglob('*.py') if 'tests' not in path.relative_to(package).parts
    ]
    found = {name for path in paths for name in imported(path)}
    libraries = found - {package.name, *sys.stdlib_module_names}

    required = re.findall(r'^([\w.-]+)', setup['options']['install_requires'], re.MULTILINE)
    assert {LIBRARIES[name] for name in libraries} | NOT_IMPORTED[name] == {*required}
    assert setup['metadata']['version'] == service['metadata']['version']
