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


def test_the_distribution_replaces_upstream() -> None:
    """It has upstream's name and a newer version than the one that the tests upgrade from."""
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(REPOSITORY / 'setup.cfg')
    makefile = (REPOSITORY / 'Makefile').read_text()
    (upstream,) = re.findall(r'openstack-placement==([\d.]+)', makefile)

    assert setup['metadata']['name'] == conf.DISTRIBUTION == 'openstack-placement'
    assert Version(setup['metadata']['version']) > Version(upstream)


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

    setup = configparser.ConfigParser(interpolation=None)
    setup.read(REPOSITORY / 'setup.cfg')
    extras = setup['options.extras_require']
    optional = [extras[name] for name in ('mysql', 'postgresql', 'memcached')]
    wanted = '\n'.join([setup['options']['install_requires'], *optional])
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
