# SPDX-License-Identifier: Apache-2.0
"""The classes and traits in refused searches, some of which do not exist."""

import datetime
import re
import urllib.parse
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from placement.db.rows import Row

_PARAMETER = re.compile(r'(resources|required|root_required)(?![a-z])')


class UnknownName(NamedTuple):
    """A name that does not exist, the number of searches with it, and the time of the last one.

    `kind` is `trait` or `resource_class`.
    """

    kind: str
    name: str
    times: int
    last_at: datetime.datetime


def named_in(refused: Iterable[Row]) -> Sequence[UnknownName]:
    """Return the names in refused demands, the most frequent first.

    The demands have to be in order, the newest first.
    """
    found: dict[tuple[str, str], UnknownName] = {}
    for row in refused:
        for kind, name in set(names_in(row.query)):
            known = found.get((kind, name), UnknownName(kind, name, 0, row.last_at))
            found[kind, name] = known._replace(times=known.times + row.times)
    return sorted(found.values(), key=lambda one: (-one.times, one.kind, one.name))


def names_in(query: str) -> Iterator[tuple[str, str]]:
    """Yield the kind and the name of each class and trait in a normalized query."""
    for parameter, value in urllib.parse.parse_qsl(query):
        match = _PARAMETER.match(parameter)
        if match is None:
            continue
        of_class = match[1] == 'resources'
        for item in value.removeprefix('in:').split(','):
            if of_class:
                yield 'resource_class', item.partition(':')[0]
            else:
                yield 'trait', item.removeprefix('!')
