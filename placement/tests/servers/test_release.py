# SPDX-License-Identifier: Apache-2.0
"""`make release`: what it refuses, what it leaves, and pages that install from it."""

import functools
import http.server
import pathlib
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping

import pytest
from docutils import nodes

from placement import conf
from placement.tests.servers import installation
from placement.tests.servers.release import CLIENTS, Release, our_version
from placement.tests.unit import samples

VERSION = our_version()
DOCUMENTS = installation.REPOSITORY / 'doc' / 'source'

#: pip as it is in an environment, with the libraries of another one, which stays as it is.
PIP = '#!/bin/sh\nexec {python} -m pip --disable-pip-version-check --quiet "$@"\n'

#: Prints the version and the environment of each distribution.
INSTALLED = """
import importlib.metadata, pathlib, sys
for name in sys.argv[1:]:
    found = importlib.metadata.distribution(name)
    __import__(name.replace('-', '_'))
    print(found.version, pathlib.Path(found.locate_file('')).parents[2])
"""


@pytest.fixture(scope='module')
def release(
    archive: pathlib.Path, wheel: pathlib.Path, client_wheels: Mapping[str, pathlib.Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Release:  # fmt: skip
    """A release of this tree but for the pages."""
    directory = tmp_path_factory.mktemp('release')
    made = Release(directory, archive, wheel, *client_wheels.values())
    assert made.make(VERSION) == ''
    return made


@pytest.fixture
def unreleased(tmp_path: pathlib.Path) -> Release:
    """A repository of which nothing was released, and in which nothing was built."""
    return Release(tmp_path)


def test_a_release_has_all_files_and_their_checksums(release: Release) -> None:
    names = {path.name for path in release.dist.iterdir()}
    assert names == {
        f'openstack_placement-{VERSION}.tar.gz',
        f'openstack_placement-{VERSION}-py3-none-any.whl',
        f'osc_placement_insight-{VERSION}-py3-none-any.whl',
        f'placement_report_client-{VERSION}-py3-none-any.whl',
        'Containerfile', 'Containerfile.distribution', 'pages.tar.gz', 'SHA256SUMS', 'simple',
    }  # fmt: skip
    check = ['sha256sum', '--check', '--strict', 'SHA256SUMS']
    checked = subprocess.run(check, cwd=release.dist, check=True, capture_output=True, text=True)
    assert checked.stdout.count(': OK') == len(names) - 2
    assert release.tags == [VERSION]


def test_a_tag_is_never_moved(release: Release) -> None:
    assert release.make(VERSION) == f'No release: the tag {VERSION} exists already.\n'


@pytest.mark.parametrize(
    ('version', 'reason'),
    [
        ('2027.3.0', f'setup.cfg has the version {VERSION}, not 2027.3.0'),
        ('', f'setup.cfg has the version {VERSION}, not none'),
    ],
)
def test_another_number_is_refused(unreleased: Release, version: str, reason: str) -> None:
    assert unreleased.make(version) == f'No release: {reason}.\n'
    assert unreleased.tags == []


def test_distributions_of_two_numbers_are_refused(unreleased: Release) -> None:
    path = unreleased.path / CLIENTS[0] / 'setup.cfg'
    path.write_text(path.read_text().replace(VERSION, '2026.1.0'))
    unreleased.commit()

    refusal = f'No release: {CLIENTS[0]}/setup.cfg has the version 2026.1.0, not {VERSION}.\n'
    assert unreleased.make(VERSION) == refusal
    assert unreleased.tags == []


def test_a_change_that_is_not_committed_is_refused(unreleased: Release) -> None:
    unreleased.path.joinpath('new').touch()

    assert 'changes that are not committed' in unreleased.make(VERSION)
    assert unreleased.tags == []


def test_a_failure_leaves_no_tag(unreleased: Release) -> None:
    unreleased.path.joinpath('Makefile').write_text('docs:\n\tfalse\n')
    unreleased.commit()

    assert 'CalledProcessError' in unreleased.make(VERSION)
    assert unreleased.tags == []


@pytest.fixture
def index(release: Release) -> Iterator[str]:
    """The address of the index of the release, on the loopback."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_arguments: object) -> None:
            """Log nothing."""

    handler = functools.partial(Quiet, directory=str(release.dist))
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f'http://127.0.0.1:{server.server_port}/simple/'
        server.shutdown()


def test_pip_takes_the_distributions_from_the_index(index: str, tmp_path: pathlib.Path) -> None:
    download = [sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps', '--isolated']
    source = ['--index-url', index, '--dest', str(tmp_path)]
    subprocess.run([*download, *source, conf.DISTRIBUTION, *CLIENTS], check=True)

    assert {path.name.split('-')[0] for path in tmp_path.glob(f'*-{VERSION}-*.whl')} == {
        name.replace('-', '_') for name in (conf.DISTRIBUTION, *CLIENTS)
    }


@pytest.fixture
def laptop(release: Release, tmp_path: pathlib.Path) -> pathlib.Path:
    """A directory with the release, and an environment `bin` that has the openstack client."""
    client = installation.environment(
        'openstackclient', installation.SYSTEM_PYTHON, 'python-openstackclient', 'osc-placement'
    )
    create = [installation.SYSTEM_PYTHON, '-m', 'venv', '--without-pip', str(tmp_path)]
    subprocess.run(create, check=True)
    (site,) = tmp_path.glob('lib/python3*/site-packages')
    (libraries,) = client.glob('lib/python3*/site-packages')
    site.joinpath('client.pth').write_text(f'{libraries}\n')
    pip = tmp_path / 'bin' / 'pip'
    pip.write_text(PIP.format(python=tmp_path / 'bin' / 'python'))
    pip.chmod(0o755)
    tmp_path.joinpath('release').symlink_to(release.dist)
    return tmp_path


def installations(page: str) -> Iterator[str]:
    """The commands of a page that install something."""
    tree, _ = samples.parse_page((DOCUMENTS / page).read_text())
    for block in tree.findall(nodes.literal_block):
        for line in block.astext().splitlines():
            if line.startswith('$ pip install '):
                yield line.removeprefix('$ ')


def test_pages_about_clients_are_followed(laptop: pathlib.Path) -> None:
    commands = [
        line for page in ('client.rst', 'command-line.rst') for line in installations(page)
    ]
    for command in commands:
        program, *arguments = shlex.split(command)
        subprocess.run([laptop / 'bin' / program, *arguments], cwd=laptop, check=True)

    script: list[str | pathlib.Path] = [laptop / 'bin' / 'python', '-c', INSTALLED, *CLIENTS]
    found = subprocess.run(script, check=True, capture_output=True, text=True).stdout
    assert found.split() == [VERSION, str(laptop)] * 2
    assert len(commands) == 2
