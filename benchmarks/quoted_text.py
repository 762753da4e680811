# SPDX-License-Identifier: Apache-2.0
"""Answers to requests whose texts are chosen to be slow to read, to quote or to refuse.

    python -m benchmarks.quoted_text [bytes]

Each text is sent in each place of a request that an answer or the log may quote, for any format
of errors, to the service in this process on an empty database. The table has the slowest text of
each place.
"""

from __future__ import annotations

import itertools
import pathlib
import sys
import tempfile
import time
from typing import NamedTuple
from wsgiref.types import WSGIApplication

import webob

from benchmarks.metered import serving
from benchmarks.report import columns
from placement.tests.functional import quoted_text
from placement.tests.functional.fixtures.databases import migrate

#: Close to the most that the samples let in as a header, and to the longest query that is read.
SIZE = 60_000


class Slowest(NamedTuple):
    """The slowest request of one place, in processor time."""

    place: str
    text: str
    milliseconds: float
    status: int
    length: int


def slowest(application: WSGIApplication, place: str, size: int) -> Slowest:
    """The slowest of all texts in one place."""
    found = Slowest(place, '', 0, 0, 0)
    for accept, (name, text) in itertools.product(quoted_text.FORMATS, quoted_text.texts(size)):
        sent = webob.Request(quoted_text.request(place, text, accept))
        begin = time.process_time()
        response = sent.get_response(application)
        length = len(response.body)
        took = (time.process_time() - begin) * 1_000
        if took > found.milliseconds:
            found = Slowest(place, name, took, response.status_int, length)
    return found


def main(size: int) -> None:
    """Print the slowest text of each place."""
    with tempfile.TemporaryDirectory() as directory:
        database = f'sqlite:///{pathlib.Path(directory, "placement.sqlite")}'
        migrate(database)
        with serving(database) as client:
            found = [slowest(client.application, place, size) for place in quoted_text.PLACES]
    found.sort(key=lambda one: one.milliseconds, reverse=True)
    rows = [(row.place, row.text, f'{row.milliseconds:.1f}', *map(str, row[3:])) for row in found]
    print(columns([('place', f'{size} bytes', 'ms', 'status', 'bytes'), *rows]))


if __name__ == '__main__':
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SIZE)
