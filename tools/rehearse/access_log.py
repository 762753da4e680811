# SPDX-License-Identifier: Apache-2.0
"""The reads of an access log of haproxy, nginx, Apache or uWSGI, or of upstream's own log."""

import gzip
import pathlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import BinaryIO, NamedTuple, cast

from placement.microversions import NEWEST
from placement.routes import ROUTES
from tools.rehearse.failure import CannotRehearse

GZIP = b'\x1f\x8b'

_REQUEST = r'"(?P<method>[A-Z]+) (?P<target>\S+) HTTP/[\d.]+"'

#: What a line of each format has.
FORMATS: Mapping[str, re.Pattern[str]] = {
    'oslo.log': re.compile(
        r'"(?P<method>[A-Z]+) (?P<target>\S+)" status: \d+ len: \S+ microversion: (?P<version>\S+)'
    ),
    'uWSGI': re.compile(
        r'\[[^]]+\] (?P<method>[A-Z]+) (?P<target>\S+) => generated \d+ bytes in \d+ \w+ \(HTTP/'
    ),
    # Status, bytes, two captured cookies, the end of the session, connections, queues, headers.
    'haproxy': re.compile(
        rf' -?\d+ \+?\d+ \S+ \S+ \S{{4}} \d+/\d+/\d+/\d+/\+?\d+ \d+/\d+ (?:\{{.*\}} )*{_REQUEST}'
    ),
    'nginx or Apache': re.compile(rf'\] {_REQUEST} \d{{3}} (?:\d+|-)'),
}

# Where a line ends within a request: syslog and haproxy bound the length of a line.
_CUT = re.compile(r'\b(?:GET|POST|PUT|DELETE) /[^"]*$')

# The microversion that a log format of one's own may have, as the header has it.
_VERSION = re.compile(r'\bplacement (1\.\d+|latest)\b')

_SEGMENTS = '|'.join(sorted({route.path.split('/')[1] for route in ROUTES if route.path[1:]}))
_PATH = re.compile(rf'(?:https?://[^/]*)?(?:/[\w.-]+){{0,2}}?(/(?:{_SEGMENTS})(?:[/?].*)?)')
_ROUTES = {
    route.path: re.compile(re.sub(r'{\w+}', '[^/]+', route.path) + r'(?:\?.*)?')
    for route in ROUTES
    if route.method == 'GET' and route.path[1:]
}


class Request(NamedTuple):
    """A read: the path with its query, without the prefix of the service, and the microversion."""

    path: str
    version: str

    @property
    def route(self) -> str:
        """The path of its route; that of none is the one of a 404."""
        return next((path for path, form in _ROUTES.items() if form.fullmatch(self.path)), 'none')


class AccessLog(NamedTuple):
    """What a log has: its format, its reads with their numbers, and numbers of other lines."""

    format: str
    reads: Counter[Request]
    # Requests that change something, and requests for something else than Placement.
    changes: int
    foreign: int
    # Lines that the writer of the log cut off within a request.
    cut: int
    # Reads without a microversion, which get the one of the argument.
    without_version: int


def read(path: pathlib.Path, version: str = NEWEST) -> AccessLog:
    """Read a log, packed by gzip or not.

    :raises CannotRehearse: it is of no known format, not of Placement, or ends within a line
    """
    numbers: Counter[str] = Counter()
    reads: Counter[Request] = Counter()
    known = ''
    for line in _lines(path):
        names = [known] if known else [*FORMATS]
        found = next(((name, hit) for name in names if (hit := FORMATS[name].search(line))), None)
        if found is None:
            if not line.endswith('\n'):
                raise CannotRehearse(f'{path} is truncated: its last line ends early')
            numbers['cut'] += bool(_CUT.search(line))
            continue
        known, hit = found
        target = _PATH.fullmatch(hit['target'])
        if target is None or not target[1].isascii():
            numbers['foreign'] += 1
        elif hit['method'] != 'GET':
            numbers['changes'] += 1
        else:
            own = hit.groupdict().get('version') or ''.join(_VERSION.findall(line)[-1:])
            numbers['without_version'] += own in ('', '-')
            reads[Request(target[1], version if own in ('', '-') else own)] += 1
    if not known:
        raise CannotRehearse(f'{path} is no log of {", ".join(FORMATS)}, or has no request')
    if not reads:
        raise CannotRehearse(f'{path} has no read of Placement among its requests')
    counted = (numbers[name] for name in ('changes', 'foreign', 'cut', 'without_version'))
    return AccessLog(known, reads, *counted)


def _lines(path: pathlib.Path) -> Iterator[str]:
    try:
        with opened(path) as file:
            for line in file:
                yield line.decode(errors='replace')
    except EOFError as error:
        raise CannotRehearse(f'{path} is truncated: its packed data end early') from error
    except OSError as error:
        raise CannotRehearse(f'{path} cannot be read: {error.strerror or error}') from error


def opened(path: pathlib.Path) -> BinaryIO:
    """Open a file, which may be packed by gzip.

    :raises OSError: it cannot be read
    """
    with path.open('rb') as file:
        is_packed = file.read(2) == GZIP
    return cast(BinaryIO, gzip.open(path)) if is_packed else path.open('rb')
