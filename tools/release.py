#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tag a release and write all of its files to `dist`; in the top directory of the repository.

    python tools/release.py <version>

`make docs` and `make dist` make most of them. `dist` is an index of packages as well: pip takes
`dist` with --find-links, and `dist/simple` of a web server with --index-url. Nothing is published.
"""

from __future__ import annotations

import configparser
import contextlib
import hashlib
import html
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator

import release_files

DISTRIBUTIONS = ('.', 'osc-placement-insight', 'placement-report-client')
IMAGES = ('Containerfile', 'Containerfile.distribution')
DIST = pathlib.Path('dist')
PAGES = pathlib.Path('doc', 'build', 'html')


def git(*arguments: str) -> str:
    """Run git; return its output."""
    done = subprocess.run(['git', *arguments], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def find_obstacle(version: str) -> str | None:
    """The reason why this version cannot be released from here; None if it can."""
    for directory in DISTRIBUTIONS:
        path = pathlib.Path(directory, 'setup.cfg')
        setup = configparser.ConfigParser(interpolation=None)
        setup.read(path)
        number = setup['metadata']['version']
        if number != version:
            return f'{path} has the version {number}, not {version or "none"}'
    if git('status', '--porcelain'):
        return 'there are changes that are not committed: git status lists them'
    if git('tag', '--list', version):
        return f'the tag {version} exists already'
    return None


@contextlib.contextmanager
def tag(version: str) -> Iterator[None]:
    """Tag the commit, and take the tag away again if the block fails.

    Release notes have their version from the tag, so that it comes first.
    """
    git('tag', '--annotate', '--message', f'Release {version}', version)
    try:
        yield
    except BaseException:
        git('tag', '--delete', version)
        raise


def complete(version: str) -> None:
    """Add pages, image build files, the index and checksums to the files of `make dist`."""
    with tarfile.open(DIST / 'pages.tar.gz', 'w:gz') as archive:
        archive.add(PAGES, f'placement-pages-{version}')
    for name in IMAGES:
        shutil.copy(pathlib.Path('etc', 'containers', name), DIST)
    release_files.normalise(DIST, int(git('log', '-1', '--format=%ct')))
    write_index(DIST)


def write_index(directory: pathlib.Path) -> None:
    """Write `simple`, the pages by which pip finds the archives and wheels of a directory."""
    projects: dict[str, list[pathlib.Path]] = {}
    for path in sorted([*directory.glob('*.whl'), *directory.glob('*-[0-9]*.tar.gz')]):
        name = re.split(r'-\d', path.name)[0]
        projects.setdefault(re.sub(r'[-_.]+', '-', name).lower(), []).append(path)
    write_links(directory / 'simple', {name: f'{name}/' for name in projects})
    for name, paths in projects.items():
        links = {path.name: f'../../{path.name}#sha256={digest(path)}' for path in paths}
        write_links(directory / 'simple' / name, links)


def write_links(directory: pathlib.Path, links: dict[str, str]) -> None:
    """Write a page of links, addresses by their texts."""
    lines = [f'<a href="{html.escape(url)}">{text}</a><br>\n' for text, url in links.items()]
    directory.mkdir()
    directory.joinpath('index.html').write_text(f'<!DOCTYPE html>\n{"".join(lines)}')


def digest(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main(version: str) -> None:
    """Release a version.

    :raises SystemExit: if that is not possible, with the reason
    """
    obstacle = find_obstacle(version)
    if obstacle is not None:
        sys.exit(f'No release: {obstacle}.')
    with tag(version):
        subprocess.run(['make', '--no-print-directory', 'docs', 'dist'], check=True)
        complete(version)
    print(f'Release {version} is in {DIST}; publish the tag with: git push origin {version}')


if __name__ == '__main__':
    main(sys.argv[1] if sys.argv[1:] else '')
