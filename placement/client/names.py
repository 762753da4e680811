# SPDX-License-Identifier: Apache-2.0
"""Resource classes and traits, made sure of (specification: resource_classes; traits)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib import parse

from placement.client import errors
from placement.client.microversions import Feature
from placement.client.session import Request, Session

CUSTOM = 'CUSTOM_'

# What fits into the line of a request everywhere, with room for the rest of it.
LONGEST_LIST = 3000


def ensure_resource_class(session: Session, name: str) -> None:
    """Have the class there, in one request.

    :raises errors.Conflict: others were in the way again and again
    :raises errors.Gone: it is a standard class that the service does not know
    :raises errors.Refused: the name is no name for a custom class
    """
    # Standard classes can only be looked for: they come with the service.
    session.send(
        Request(
            'PUT' if name.startswith(CUSTOM) else 'GET',
            f'/resource_classes/{quoted(name)}',
            needs=frozenset({Feature.RESOURCE_CLASS_ENSURED}),
        )
    )


def ensure_traits(session: Session, names: Iterable[str]) -> None:
    """Have the traits there: one request to compare, and one for each that is missing.

    :raises errors.Conflict: others were in the way again and again
    :raises errors.Gone: there is a standard trait that the service does not know
    :raises errors.Refused: one of them is no name for a custom trait
    """
    for some in _in_short_lists(sorted(set(names))):
        missing = set(some) - _existing(session, some)
        unknown = sorted(name for name in missing if not name.startswith(CUSTOM))
        if unknown:
            raise errors.Gone(f'the service does not know the traits {", ".join(unknown)}')
        for name in sorted(missing):
            path = f'/traits/{quoted(name)}'
            session.send(Request('PUT', path, needs=frozenset({Feature.TRAITS})))


def quoted(segment: str) -> str:
    """A name or uuid as one segment of a path."""
    return parse.quote(segment, safe='')


def _existing(session: Session, names: list[str]) -> set[str]:
    query = parse.urlencode({'name': f'in:{",".join(names)}'}, safe=':,')
    answer = session.send(Request('GET', f'/traits?{query}', needs=frozenset({Feature.TRAITS})))
    return set(answer.body()['traits'])


def _in_short_lists(names: Iterable[str]) -> Iterator[list[str]]:
    """The names, as many at a time as can be asked for in one request."""
    some: list[str] = []
    length = 0
    for name in names:
        if some and length + len(name) >= LONGEST_LIST:
            yield some
            some, length = [], 0
        some.append(name)
        length += len(name) + 1
    if some:
        yield some
