# SPDX-License-Identifier: Apache-2.0
"""Test the core alone: a wheel without insight, in an environment of its own.

    python tools/core_tests.py [arguments of pytest]

The environment has the libraries of the one that runs this. In it the core starts, answers 404
below /insight, and passes every file of gabbits/.
"""

import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv

REPOSITORY = pathlib.Path(__file__).parents[1]
EXTENSION = 'placement_insight'
OTHERS = (f'{EXTENSION}/', 'osc-placement-insight/', 'placement-report-client/', '.ci/')

STARTS = """
from placement import conf, direct, extension
assert extension.list_installed() == []
configuration = conf.load(search=False)
with direct.PlacementDirect(configuration, latest_microversion=True) as client:
    assert client.get('/').status_code == 200
    assert client.get('/traits').status_code == 200
    for path in ('/insight', '/insight/providers', '/ui/'):
        assert client.get(path).status_code == 404, path
"""


def main(arguments: list[str]) -> int:
    """Run the tests; the exit status of pytest."""
    with tempfile.TemporaryDirectory(prefix='placement-core-') as name:
        directory = pathlib.Path(name)
        source = copy_source(directory / 'source')
        python, site = make_environment(directory / 'environment', build_wheel(source, directory))
        shutil.copytree(REPOSITORY / 'placement' / 'tests', site / 'placement' / 'tests',
            dirs_exist_ok=True, ignore=shutil.ignore_patterns('__pycache__'))  # fmt: skip
        shutil.copytree(REPOSITORY / 'gabbits', site / 'gabbits')
        shutil.copy(REPOSITORY / 'pyproject.toml', site)
        url = f'sqlite:///{directory}/placement.sqlite'
        environ = {
            'OS_PLACEMENT_DATABASE__CONNECTION': url,
            'OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP': 'true',
            'PATH': '/usr/bin:/bin',
        }
        subprocess.run([python, '-c', STARTS], cwd=site, env=environ, check=True)
        test = 'placement/tests/functional/test_gabbi.py'
        return subprocess.run([python, '-m', 'pytest', test, *arguments], cwd=site).returncode


def copy_source(target: pathlib.Path) -> pathlib.Path:
    """Copy the files that git knows, without the extension and what declares it."""
    git = ['git', '-C', str(REPOSITORY), 'ls-files', '-z']
    listed = subprocess.run(git, check=True, capture_output=True, text=True).stdout
    for name in listed.rstrip('\0').split('\0'):
        path = REPOSITORY / name
        if path.is_file() and not name.startswith(OTHERS):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target / name)
    setup = target / 'setup.cfg'
    lines = setup.read_text().splitlines(keepends=True)
    kept = (line for line in lines if EXTENSION not in line and 'placement.extensions' not in line)
    setup.write_text(''.join(kept))
    return target


def build_wheel(source: pathlib.Path, directory: pathlib.Path) -> pathlib.Path:
    """Build the wheel of the core in a directory that has no other."""
    pip = [sys.executable, '-m', 'pip', 'wheel', '--quiet', '--no-deps', '--no-build-isolation']
    subprocess.run([*pip, str(source)], cwd=directory, check=True)
    (wheel,) = directory.glob('*.whl')
    return wheel


def make_environment(target: pathlib.Path, wheel: pathlib.Path) -> tuple[str, pathlib.Path]:
    """Make the environment with the wheel; its Python, and where its packages are."""
    venv.create(target, symlinks=True)
    python = str(target / 'bin' / 'python')
    pip = [sys.executable, '-m', 'pip', '--python', python, 'install', '--quiet', '--no-deps']
    subprocess.run([*pip, str(wheel)], check=True)
    (site,) = target.glob('lib/python3*/site-packages')
    # Paths that it adds come after its own; editable installations are none.
    (site / 'libraries.pth').write_text(sysconfig.get_path('purelib'))
    return python, site


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
