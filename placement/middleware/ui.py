# SPDX-License-Identifier: Apache-2.0
"""`/ui`: the page, static files that a browser gets without a token.

The files show nothing of the cloud. What they show comes from the API, with the token of whoever
looks at it, under the rules of the routes (specification: http, "The page").
"""

import hashlib
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from importlib import resources
from typing import NamedTuple
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from placement.conf import ConfigOpts

PATH = '/ui'
METHODS = ('GET', 'HEAD')
TYPES = {
    '.html': 'text/html; charset=utf-8',
    '.css': 'text/css; charset=utf-8',
    '.js': 'text/javascript; charset=utf-8',
    '.svg': 'image/svg+xml',
}
# The last two let no text become markup or script, whatever the code of the page does with it.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
SECURITY_HEADERS = [
    ('Content-Security-Policy', CONTENT_SECURITY_POLICY),
    ('X-Content-Type-Options', 'nosniff'),
    # For browsers that do not know frame-ancestors.
    ('X-Frame-Options', 'DENY'),
    ('Referrer-Policy', 'no-referrer'),
    ('Cross-Origin-Opener-Policy', 'same-origin'),
    ('Cross-Origin-Resource-Policy', 'same-origin'),
]


class File(NamedTuple):
    """A file of the page as it is sent."""

    content: bytes
    media_type: str
    etag: str


def load_files() -> Mapping[str, File]:
    """The files of the page by the path below ``/ui/``; the index by the empty one as well.

    Only these are served, so that no path leads to another file.
    """
    files = {}
    for entry in resources.files('placement').joinpath('insight', 'ui').iterdir():
        media_type = TYPES.get(f'.{entry.name.rpartition(".")[2]}')
        if media_type is not None:
            content = entry.read_bytes()
            etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            files[entry.name] = File(content, media_type, etag)
    files[''] = files['index.html']
    return files


def serve_page(application: WSGIApplication, conf: ConfigOpts) -> WSGIApplication:
    """The application with the page at `/ui/`, if it is on; as it was otherwise."""
    if not conf.ui.enabled:
        return application
    files = load_files()

    def choose(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get('PATH_INFO', '')
        if path != PATH and not path.startswith(f'{PATH}/'):
            return application(environ, start_response)
        status, headers, content = _answer(files, path, environ)
        headers += SECURITY_HEADERS
        if status is not HTTPStatus.NOT_MODIFIED:
            # There it would have to be the length of what is not sent.
            headers.append(('Content-Length', str(len(content))))
        start_response(f'{status.value} {status.phrase}', headers)
        return [] if environ['REQUEST_METHOD'] == 'HEAD' else [content]

    return choose


PageAnswer = tuple[HTTPStatus, list[tuple[str, str]], bytes]


def _answer(files: Mapping[str, File], path: str, environ: WSGIEnvironment) -> PageAnswer:
    """Status, headers and content; without what all answers have."""
    if environ['REQUEST_METHOD'] not in METHODS:
        return _refusal(HTTPStatus.METHOD_NOT_ALLOWED, ('Allow', ', '.join(METHODS)))
    if path == PATH:
        # Relative, so that it is right behind any proxy, and cannot lead to another host.
        return _refusal(HTTPStatus.MOVED_PERMANENTLY, ('Location', 'ui/'))
    file = files.get(path[len(PATH) + 1 :])
    if file is None:
        return _refusal(HTTPStatus.NOT_FOUND)
    # Browsers ask again each time, which costs little, and get a new release at once.
    headers = [('ETag', file.etag), ('Cache-Control', 'no-cache')]
    if file.etag in environ.get('HTTP_IF_NONE_MATCH', ''):
        return HTTPStatus.NOT_MODIFIED, headers, b''
    return HTTPStatus.OK, [*headers, ('Content-Type', file.media_type)], file.content


def _refusal(status: HTTPStatus, *headers: tuple[str, str]) -> PageAnswer:
    content = f'{status.value} {status.phrase}\n'.encode()
    return status, [('Content-Type', 'text/plain; charset=utf-8'), *headers], content
