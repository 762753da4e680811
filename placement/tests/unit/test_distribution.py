# SPDX-License-Identifier: Apache-2.0
"""The distribution and its pinned requirements."""

import configparser
import json
import pathlib
import re
import subprocess
import sys

from packaging.version import Version

from placement import conf
from placement.tests.functional.fixtures import applications

REPOSITORY = applications.repository_path('.').resolve()
PAGES = REPOSITORY / 'doc' / 'source'

#: Pages that have the number of the release, and no other.
NUMBERED = ('client', 'command-line', 'install', 'upgrade')

#: A release by its date, such as 2026.12.0.
RELEASE = r'\b20\d\d\.\d{1,2}\.\d+\b'


def setup() -> configparser.ConfigParser:
    """The contents of setup.cfg."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(REPOSITORY / 'setup.cfg')
    return parser


def test_the_distribution_replaces_upstream() -> None:
    """Check the name, which is upstream's, and the version, a date above any of upstream."""
    metadata = setup()['metadata']
    year, month, _ = Version(metadata['version']).release

    assert metadata['name'] == conf.DISTRIBUTION == 'openstack-placement'
    assert year >= 2026
    assert 1 <= month <= 12


def test_pages_and_samples_have_the_number_of_the_release() -> None:
    paths = [
        path
        for path in (REPOSITORY / 'etc').rglob('*')
        # Python compiles the samples that other tests run.
        if path.is_file() and path.suffix != '.pyc' and not path.name.startswith('requirements')
    ]
    paths += [
        REPOSITORY / 'README.rst',
        *(PAGES / f'{name}.rst' for name in NUMBERED),
    ]
    numbers = {
        path: found for path in paths if (found := {*re.findall(RELEASE, path.read_text())})
    }

    assert len(numbers) >= 10
    assert {number for found in numbers.values() for number in found} == {
        setup()['metadata']['version']
    }


#: The service, and two web servers.
HASHED = (
    'etc/placement/requirements.txt',
    'etc/placement/requirements-uwsgi.txt',
    'etc/placement/requirements-gunicorn.txt',
)
PINNED = r'^([\w.-]+)==([^\s;\\]+)'

#: What PyMySQL[rsa], psycopg[binary] and keystonemiddleware[memcache-encryption] add.
OF_EXTRAS_OF_LIBRARIES = {'cryptography', 'psycopg-binary'}


def pins(path: str, pattern: str) -> dict[str, str]:
    """Versions by the normalised name of the package."""
    found = re.findall(pattern, (REPOSITORY / path).read_text(), re.MULTILINE)
    return {re.sub(r'[-_.]+', '-', name).lower(): version for name, version in found}


def test_requirements_with_hashes_are_the_pins_of_the_tests() -> None:
    tested = pins('constraints.txt', r'^([\w.-]+)==([^\s;]+)')
    for path in HASHED:
        assert pins(path, PINNED).items() <= tested.items()
    hashed = pins(HASHED[0], PINNED)

    extras = setup()['options.extras_require']
    optional = [extras[name] for name in ('mysql', 'postgresql', 'memcached')]
    wanted = '\n'.join([setup()['options']['install_requires'], *optional])
    names = {*re.findall(r'^([\w.-]+)', wanted, re.MULTILINE), *OF_EXTRAS_OF_LIBRARIES}
    assert {re.sub(r'[-_.]+', '-', name).lower() for name in names} <= hashed.keys()


def test_bill_of_materials_has_every_pin(tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'bill.json'
    command = [sys.executable, str(REPOSITORY / 'tools' / 'bill_of_materials.py'), str(path)]
    subprocess.run([*command, *(str(REPOSITORY / name) for name in HASHED)], check=True)
    bill = json.loads(path.read_text())

    wanted = {name: version for file in HASHED for name, version in pins(file, PINNED).items()}
    assert {one['name']: one['version'] for one in bill['components']} == wanted
    hashes = [len(one['externalReferences']) for one in bill['components']]
    texts = ''.join((REPOSITORY / name).read_text() for name in HASHED)
    assert min(hashes) > 0
    assert sum(hashes) == len(set(re.findall(r'--hash=sha256:(\w+)', texts)))
    assert bill['metadata']['component']['name'] == conf.DISTRIBUTION
