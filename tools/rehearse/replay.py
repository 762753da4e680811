# SPDX-License-Identifier: Apache-2.0
"""Sends the reads to both services, and compares the answers."""

import enum
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from placement.microversions import NEWEST
from placement.tests.functional.fixtures.client import Answer
from placement.tests.functional.known_differences import Read, differences, find_known
from placement.tests.functional.replay import in_order
from tools.rehearse.access_log import Request
from tools.rehearse.services import Reply, Service

# The number of differences of one pair of answers that are shown.
MAX_SHOWN = 8


class Kind(enum.Enum):
    """What became of a read; the value is a column of the report."""

    SAME = 'same'
    KNOWN = 'known'
    NEW = 'new'
    FAILED = 'upstream failed'
    UNFINISHED = 'unfinished'


class Outcome(NamedTuple):
    """A read with the number of times the log has it, both answers, and how they differ."""

    request: Request
    times: int
    ours: Reply
    theirs: Reply
    kind: Kind
    # The title of the known difference.
    title: str = ''
    shown: Sequence[str] = ()

    @property
    def is_same(self) -> bool:
        """Test whether nothing differs."""
        return self.kind is Kind.SAME

    @property
    def is_answered(self) -> bool:
        """Test whether upstream has an answer, and not an error of its own."""
        return self.theirs.answer is not None and self.theirs.answer.status < 500


def replay(
    reads: Iterable[tuple[Request, int]], ours: Service, theirs: Service
) -> Iterator[Outcome]:
    """Send each read to upstream, then to this service."""
    for request, times in reads:
        their_reply, our_reply = theirs.get(request), ours.get(request)
        yield compare(request, times, our_reply, their_reply)


def compare(request: Request, times: int, ours: Reply, theirs: Reply) -> Outcome:
    """Compare two answers."""

    def outcome(kind: Kind, title: str = '', shown: Sequence[str] = ()) -> Outcome:
        return Outcome(request, times, ours, theirs, kind, title, shown)

    if ours.answer is None:
        return outcome(Kind.NEW, shown=['this service did not answer within the deadline'])
    if theirs.answer is None:
        return outcome(Kind.UNFINISHED)
    found = (
        [] if theirs.answer.status >= 500 else [*differences('GET', ours.answer, theirs.answer)]
    )
    if theirs.answer.status < 500 and not found:
        return outcome(Kind.SAME)
    version = NEWEST if request.version == 'latest' else request.version
    minor = version.rpartition('.')[2]
    read = Read(request.path, int(minor) if minor.isdigit() else 0, ours.answer, theirs.answer)
    if title := find_known(read):
        return outcome(Kind.KNOWN, title)
    shown = [*_shown(ours.answer, theirs.answer)][:MAX_SHOWN] or found[:MAX_SHOWN]
    failed = theirs.answer.status >= 500 > ours.answer.status
    return outcome(Kind.FAILED if failed else Kind.NEW, shown=shown)


def _shown(ours: Answer, theirs: Answer) -> Iterator[str]:
    if ours.status != theirs.status:
        yield f'status: upstream {theirs.status}, this service {ours.status}'
        return
    try:
        yield from value_differences(ours.json, theirs.json)
    except ValueError:
        return


def value_differences(ours: Any, theirs: Any, where: str = '') -> Iterator[str]:
    """Iterate over the places in which two JSON values differ, each with both values."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in sorted(ours.keys() | theirs.keys()):
            if name != 'request_id':
                absent = 'absent'
                pair = ours.get(name, absent), theirs.get(name, absent)
                yield from value_differences(*pair, f'{where}.{name}'.lstrip('.'))
    elif isinstance(ours, list) and isinstance(theirs, list):
        here, there = ({in_order(one): one for one in value} for value in (ours, theirs))
        sides = [('upstream', there, here), ('this service', here, there)]
        for side, own, other in sides:
            for text in own.keys() - other.keys():
                yield f'{where}: only {side} has {short(own[text])}'
    elif in_order(ours) != in_order(theirs):
        yield f'{where}: upstream {short(theirs)}, this service {short(ours)}'


def short(value: Any, length: int = 200) -> str:
    """Return a value as JSON, or a text as it is, cut at a length."""
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= length else f'{text[:length]}...'
