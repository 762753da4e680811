# SPDX-License-Identifier: Apache-2.0
"""Links between the sources of the pages, which lead to what is built of them.

The pages link to each other as files, so that they can be read and followed where they lie. In the
site such a link leads to the page that was made of the file. Other files of the repository, such
as samples of configuration, are copied into the site, so that a site on a web server is complete.
"""

from __future__ import annotations

import pathlib
import shutil
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

LOG = logging.getLogger(__name__)
REPOSITORY = pathlib.Path(__file__).parents[2]

# Where the sources of pages are, and the directory of the site in which their pages are.
SOURCES = {
    REPOSITORY / 'doc' / 'source': pathlib.PurePosixPath('.'),
    REPOSITORY / 'api-ref' / 'source': pathlib.PurePosixPath('api-ref'),
}
# Pages of the site that stand for a file outside of these directories.
STAND_INS = {'README.rst': 'try-it', 'CONTRIBUTING.rst': 'contributing'}
FILES = 'files'


def lead_to_built_pages(app: Sphinx, tree: nodes.document, name: str) -> None:
    """Change the links of one page from sources to what is built of them."""
    page = (pathlib.Path(app.srcdir) / f'{name}.rst').resolve()
    for link in tree.findall(nodes.reference):
        path, hash_sign, fragment = link.get('refuri', '').partition('#')
        # What Sphinx or a directive has resolved leads to a built page already.
        if link.get('internal') or not path or ':' in path:
            continue
        target = (page.parent / path).resolve()
        if not target.is_file():
            LOG.warning('there is no file %s', target, location=(name, link.line))
            continue
        link['refuri'] = _address(app, name, target) + hash_sign + fragment


def _address(app: Sphinx, name: str, target: pathlib.Path) -> str:
    """Where a file is in the site, relative to a page; it is copied if it is no page."""
    built = page_of(target)
    if built is not None:
        return app.builder.get_relative_uri(name, built)
    place = pathlib.PurePosixPath(FILES, target.relative_to(REPOSITORY).as_posix())
    copy = pathlib.Path(app.outdir) / place
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(target, copy)
    return '../' * name.count('/') + str(place)


def page_of(target: pathlib.Path) -> str | None:
    """The page that is made of a file, None if none is."""
    for source, place in SOURCES.items():
        if target.suffix == '.rst' and target.is_relative_to(source):
            return str(place / target.relative_to(source).with_suffix('').as_posix())
    return STAND_INS.get(target.relative_to(REPOSITORY).as_posix())


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect('doctree-resolved', lead_to_built_pages)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
