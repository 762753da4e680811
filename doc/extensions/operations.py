# SPDX-License-Identifier: Apache-2.0
"""The operations of the API reference: method, path and versions in one line below the title.

os-api-ref makes of ``rest_method`` a title of its own in a section without one, which scripts
fold and which leaves an empty entry in every table of contents. Here the section keeps its title.
"""

from __future__ import annotations

from typing import Any

import os_api_ref
from docutils import nodes
from sphinx.application import Sphinx

# Before os-api-ref and the tables of contents look at the tree, which they do at 500.
EARLY = 400


def show_methods(app: Sphinx, tree: nodes.document) -> None:
    """Replace every method by a paragraph."""
    for method in list(tree.findall(os_api_ref.rest_method)):
        wrapper = method.parent
        wrapper.parent.replace(wrapper, _paragraph(method))


def _paragraph(method: nodes.Element) -> nodes.paragraph:
    name, path = method['method'], method['url']
    shown = nodes.paragraph(classes=['operation'])
    shown += nodes.inline('', name, classes=['method', f'method-{name.lower()}'])
    shown += nodes.Text(' ')
    shown += nodes.literal(path, path)
    if versions := _versions(method['min_version'], method['max_version']):
        shown += nodes.Text(' ')
        shown += nodes.inline('', versions, classes=['versions'])
    return shown


def _versions(first: str | None, last: str | None) -> str:
    if first and last:
        return f'{first} to {last}'
    if first:
        return f'since {first}'
    return f'until {last}' if last else ''


def leave_out_assets(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: nodes.document | None
) -> None:
    """Leave out the script and the styles of os-api-ref, which need libraries for folding."""
    for kind in ('script_files', 'css_files'):
        files = context.get(kind, [])
        context[kind] = [one for one in files if 'api-site' not in str(one.filename)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect('doctree-read', show_methods, priority=EARLY)
    app.connect('html-page-context', leave_out_assets)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
