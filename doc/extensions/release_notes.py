# SPDX-License-Identifier: Apache-2.0
"""Release notes rendered by reno: a page of the documentation, and CHANGELOG.rst.

    python doc/extensions/release_notes.py CHANGELOG.rst

reno finds the version of each note in the history of git and its tags. Where there is no complete
history with tags, as in a shallow clone or a source archive, all notes stand under one heading.
"""

from __future__ import annotations

import contextlib
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import yaml
from dulwich.errors import NotGitRepository
from dulwich.repo import Repo
from reno import config, formatter, loader, sphinxext
from sphinx.application import Sphinx

REPOSITORY = pathlib.Path(__file__).parents[2]
NOTES = pathlib.Path('releasenotes', 'notes')
TITLE = 'Release notes'
ALL_VERSIONS = 'All versions'


def has_versions(repository: pathlib.Path) -> bool:
    """Whether the directory is a clone of git with the complete history and tags of versions."""
    try:
        with Repo(str(repository)) as clone:
            return not clone.get_shallow() and bool(clone.refs.subkeys(b'refs/tags'))
    except NotGitRepository:
        return False


@contextlib.contextmanager
def readable_notes(repository: pathlib.Path) -> Iterator[None]:
    """Within the block reno can read the notes of the directory, with or without versions.

    Without versions they are in reno's cache, the file which it reads in place of the history.
    """
    if has_versions(repository):
        yield
        return
    cache = pathlib.Path(loader.get_cache_filename(config.Config(str(repository))))
    cache.write_text(yaml.safe_dump(_cache(repository)))
    try:
        yield
    finally:
        cache.unlink()


def _cache(repository: pathlib.Path) -> dict[str, Any]:
    paths = sorted(repository.joinpath(NOTES).glob('*.yaml'))
    contents = {str(NOTES / path.name): yaml.safe_load(path.read_text()) for path in paths}
    files = [[name, ''] for name in contents]
    return {
        'notes': [{'version': ALL_VERSIONS, 'files': files}],
        'dates': [],
        'file-contents': contents,
    }


def changelog(repository: pathlib.Path) -> str:
    """All release notes as reStructuredText, newest version first."""
    settings = config.Config(str(repository))
    with readable_notes(repository), loader.Loader(settings) as notes:
        return formatter.format_report(
            notes, settings, notes.versions, title=TITLE, show_source=False
        )


def begin(app: Sphinx) -> None:
    """Make the notes readable until the build ends."""
    notes = contextlib.ExitStack()
    notes.enter_context(readable_notes(REPOSITORY))
    app.connect('build-finished', lambda _app, _error: notes.close())


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect('builder-inited', begin)
    sphinxext.setup(app)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}


if __name__ == '__main__':
    pathlib.Path(sys.argv[1]).write_text(changelog(REPOSITORY))
