# SPDX-License-Identifier: Apache-2.0
"""Check the built pages: links within the site lead somewhere, nothing is loaded from outside.

    python doc/extensions/link_check.py doc/build/html

A build reports each fault as a warning, which `make docs` takes for an error.
"""

from __future__ import annotations

import pathlib
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# What a browser loads by itself, as opposed to what a reader follows.
LOADED = {'img': 'src', 'script': 'src', 'iframe': 'src', 'source': 'src', 'video': 'src'}
_STYLE_ADDRESS = re.compile(r'(?:@import\s+(?:url\()?|url\()["\']?([^"\')\s]+)')


class _Page(HTMLParser):
    """The anchors, links and loaded files of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called by the parser."""
        values = {name: value for name, value in attrs if value is not None}
        self.anchors.update(values[name] for name in ('id', 'name') if name in values)
        if tag == 'a' and 'href' in values:
            self.links.append(values['href'])
        elif tag == 'link' and values.get('rel') in ('stylesheet', 'icon', 'preload'):
            self.loaded.append(values['href'])
        elif tag in LOADED and LOADED[tag] in values:
            self.loaded.append(values[LOADED[tag]])


def list_faults(site: pathlib.Path) -> list[str]:
    """What is wrong with the pages and style sheets below a directory, empty if nothing is."""
    pages = {path.resolve(): _Page(path.read_text()) for path in sorted(site.rglob('*.html'))}
    found = [fault for path, page in pages.items() for fault in _faults(path, page, pages, site)]
    for sheet in sorted(site.rglob('*.css')):
        addresses = _STYLE_ADDRESS.findall(sheet.read_text())
        found += [
            f'{sheet.relative_to(site)} loads {address}'
            for address in addresses
            if _is_outside(address)
        ]
    return found


def _faults(
    path: pathlib.Path, page: _Page, pages: dict[pathlib.Path, _Page], site: pathlib.Path
) -> Iterator[str]:
    name = path.relative_to(site.resolve())
    for address in page.loaded:
        if _is_outside(address):
            yield f'{name} loads {address}'
    for address in [*page.links, *page.loaded]:
        if _is_outside(address) or address.startswith(('mailto:', 'data:')):
            continue
        parts = urlsplit(address)
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        # A web server shows the index of a directory, a file system shows its listing.
        if not target.is_relative_to(site.resolve()) or not target.is_file():
            yield f'{name}: nothing is at {address}'
        elif target in pages and unquote(parts.fragment) not in {'', *pages[target].anchors}:
            yield f'{name}: no such place as {address}'


def _is_outside(address: str) -> bool:
    return urlsplit(address).scheme in ('http', 'https') or address.startswith('//')


def check(app: Sphinx, error: Exception | None) -> None:
    """Report the faults of what was built."""
    # Here, since the check itself runs without Sphinx.
    from sphinx.util import logging

    if error is None:
        for fault in list_faults(pathlib.Path(app.outdir)):
            logging.getLogger(__name__).warning(fault)


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    # After all that writes files at the end of a build.
    app.connect('build-finished', check, priority=900)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}


if __name__ == '__main__':
    FAULTS = list_faults(pathlib.Path(sys.argv[1]))
    print('\n'.join(FAULTS))
    sys.exit(bool(FAULTS))
