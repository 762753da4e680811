# SPDX-License-Identifier: Apache-2.0
"""The page at `/ui`: static files that a browser gets without a token.

The files contain nothing of the cloud. In the browser they read the API with the user's token,
under the policy rules of the routes (specification: http, "The page").
"""

import hashlib
import html
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from importlib import resources
from typing import NamedTuple
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

PATH = '/ui'
METHODS = ('GET', 'HEAD')
#: The tag of the index that receives the name of the cloud.
UNNAMED = b'<meta name="cloud" content="">'
TYPES = {
    '.html': 'text/html; charset=utf-8',
    '.css': 'text/css; charset=utf-8',
    '.js': 'text/javascript; charset=utf-8',
    '.svg': 'image/svg+xml',
}
# The last two directives keep any text from becoming markup or script.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
SECURITY_HEADERS = [
    ('Content-Security-Policy', CONTENT_SECURITY_POLICY),
    ('X-Content-Type-Options', 'nosniff'),
    # For browsers without support for frame-ancestors.
    ('X-Frame-Options', 'DENY'),
    ('Referrer-Policy', 'no-referrer'),
    ('Cross-Origin-Opener-Policy', 'same-origin'),
    ('Cross-Origin-Resource-Policy', 'same-origin'),
]


class File(NamedTuple):
    """A file of the page."""

    content: bytes
    media_type: str
    etag: str


def load_files(cloud_name: str = '') -> Mapping[str, File]:
    """Return the files of the page by their path below ``/ui/``, the index by the empty path too.

    Only these are served: no path leads to another file. The index contains the name of the cloud.
    """
    files = {}
    for entry in resources.files('placement_insight').joinpath('ui').iterdir():
        media_type = TYPES.get(f'.{entry.name.rpartition(".")[2]}')
        if media_type is not None:
            content = entry.read_bytes()
            if entry.name == 'index.html':
                named = f'<meta name="cloud" content="{html.escape(cloud_name)}">'
                content = content.replace(UNNAMED, named.encode())
            etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            files[entry.name] = File(content, media_type, etag)
    files[''] = files['index.html']
    return files


class Page:
    """Middleware that serves the page at `/ui/`."""

    def __init__(self, application: WSGIApplication, cloud_name: str = '') -> None:
        self._application = application
        self._files = load_files(cloud_name)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get('PATH_INFO', '')
        if path != PATH and not path.startswith(f'{PATH}/'):
            return self._application(environ, start_response)
        status, headers, content = _answer(self._files, path, environ)
        headers += SECURITY_HEADERS
        if status is not HTTPStatus.NOT_MODIFIED:
            # A 304 has no content, and this header would have to give the length of the file.
            headers.append(('Content-Length', str(len(content))))
        start_response(f'{status.value} {status.phrase}', headers)
        return [] if environ['REQUEST_METHOD'] == 'HEAD' else [content]


PageAnswer = tuple[HTTPStatus, list[tuple[str, str]], bytes]


def _answer(files: Mapping[str, File], path: str, environ: WSGIEnvironment) -> PageAnswer:
    """Return status, headers and content, without the headers that all answers share."""
    if environ['REQUEST_METHOD'] not in METHODS:
        return _refusal(HTTPStatus.METHOD_NOT_ALLOWED, ('Allow', ', '.join(METHODS)))
    if path == PATH:
        # A relative target works behind any proxy, and cannot lead to another host.
        return _refusal(HTTPStatus.MOVED_PERMANENTLY, ('Location', 'ui/'))
    file = files.get(path[len(PATH) + 1 :])
    if file is None:
        return _refusal(HTTPStatus.NOT_FOUND)
    # Browsers revalidate each time, at little cost, and get a new release at once.
    headers = [('ETag', file.etag), ('Cache-Control', 'no-cache')]
    if file.etag in environ.get('HTTP_IF_NONE_MATCH', ''):
        return HTTPStatus.NOT_MODIFIED, headers, b''
    return HTTPStatus.OK, [*headers, ('Content-Type', file.media_type)], file.content


def _refusal(status: HTTPStatus, *headers: tuple[str, str]) -> PageAnswer:
    content = f'{status.value} {status.phrase}\n'.encode()
    return status, [('Content-Type', 'text/plain; charset=utf-8'), *headers], content
