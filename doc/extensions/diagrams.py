# SPDX-License-Identifier: Apache-2.0
"""Drawings in SVG become part of the page, so that they have the colours of its theme."""

from __future__ import annotations

import pathlib
import re
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

_SIZE = re.compile(r'<svg (.*?)width="(\d+)" height="(\d+)"', re.DOTALL)


def show_inline(app: Sphinx, tree: nodes.document) -> None:
    """Replace every image that is a file in SVG by what is in the file."""
    for image in list(tree.findall(nodes.image)):
        path = pathlib.Path(app.srcdir) / image['uri']
        if path.suffix == '.svg':
            drawing = inline(path.read_text(), image.get('alt', ''))
            image.parent.replace(image, nodes.raw('', drawing, format='html'))


def inline(drawing: str, description: str) -> str:
    """A box with the drawing, which scrolls where the drawing is wider than the page."""
    found = _SIZE.search(drawing)
    if found is None:
        raise ValueError('a drawing has to state its width and its height')
    others, width, height = found.groups()
    box = '' if 'viewBox' in others else f'viewBox="0 0 {width} {height}" '
    # Below two thirds of its size the writing could not be read.
    scaled = f'<svg {others}{box}style="min-width: {int(width) * 2 // 3}px"'
    drawing = drawing.replace(found[0], scaled)
    label = escape(description, quote=True)
    return f'<div class="diagram" role="img" aria-label="{label}" tabindex="0">{drawing}</div>'


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    # Before Sphinx collects images, which it would copy.
    app.connect('doctree-read', show_inline, priority=400)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
