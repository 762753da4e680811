# SPDX-License-Identifier: Apache-2.0
"""For the pages of doc/ and api-ref/: links between their sources, and the OpenAPI documents.

The pages link to each other as files, so that they can be read and followed where they lie. In
what is built, such a link leads to the page that was made of the file.
"""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

from docutils import nodes
from docutils.parsers import rst
from sphinx.application import Sphinx
from sphinx.util import logging

from placement import history
from placement.openapi import document

LOG = logging.getLogger(__name__)
REPOSITORY = pathlib.Path(__file__).parents[2]

# Where the pages of each source directory are built, by the Makefile.
BUILT = {
    REPOSITORY / name / 'source': REPOSITORY / name / 'build' / 'html'
    for name in ('doc', 'api-ref')
}
DOCUMENTS = 'openapi'
FOLDING = 'api-site.js'


def lead_to_built_pages(app: Sphinx, tree: nodes.document, name: str) -> None:
    """Change the links of one page from sources to what is built of them."""
    source = pathlib.Path(app.srcdir)
    page = source / f'{name}.rst'
    for link in tree.findall(nodes.reference):
        path, hash_sign, fragment = link.get('refuri', '').partition('#')
        # What Sphinx has resolved itself leads to a built page already.
        if link.get('internal') or not path or ':' in path or path.startswith(DOCUMENTS):
            continue
        target = (page.parent / path).resolve()
        if not target.exists():
            LOG.warning('there is no %s', target, location=(name, link.line))
        place = pathlib.Path(app.outdir) / f'{name}.html'
        built = {**BUILT, source: pathlib.Path(app.outdir)}
        relative = os.path.relpath(_built(target, built), place.parent)
        link['refuri'] = relative + hash_sign + fragment


def _built(target: pathlib.Path, built: dict[pathlib.Path, pathlib.Path]) -> pathlib.Path:
    """What was made of a file, which is the file itself when it is no page."""
    for source, output in built.items():
        if target.suffix == '.rst' and target.is_relative_to(source):
            return output / target.relative_to(source).with_suffix('.html')
    return target


class OpenAPIDocuments(rst.Directive):
    """A list of the OpenAPI documents, newest first."""

    def run(self) -> list[nodes.Node]:
        """One paragraph with a link to each."""
        links = nodes.paragraph()
        for version in reversed([str(api.version) for api in history.APIS.values()]):
            links += nodes.reference('', version, refuri=f'{DOCUMENTS}/placement-{version}.json')
            links += nodes.Text(' ')
        return [links]


def write_documents(app: Sphinx, error: Exception | None) -> None:
    """Put the document of every microversion beside the pages."""
    if error is not None:
        return
    directory = pathlib.Path(app.outdir) / DOCUMENTS
    directory.mkdir(exist_ok=True)
    for api in history.APIS.values():
        text = json.dumps(document.document(api), indent=2)
        (directory / f'placement-{api.version}.json').write_text(text)


def show_operations_in_full(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: nodes.document | None
) -> None:
    """Leave out the script of os-api-ref, which folds operations and needs libraries for that."""
    scripts = context.get('script_files', [])
    context['script_files'] = [one for one in scripts if FOLDING not in str(one.filename)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect('doctree-resolved', lead_to_built_pages)
    app.add_directive('openapi-documents', OpenAPIDocuments)
    if pathlib.Path(app.srcdir).parent.name == 'api-ref':
        app.add_css_file('operations.css')
        app.connect('html-page-context', show_operations_in_full)
        app.connect('build-finished', write_documents)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
