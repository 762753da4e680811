# SPDX-License-Identifier: Apache-2.0
"""Creates missing resource classes and traits (specification: resource_classes; traits)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib import parse

from placement_report_client import errors
from placement_report_client.microversions import Feature
from placement_report_client.session import Request, Session

CUSTOM = 'CUSTOM_'

# In characters; with it, the request line stays below the limits of all web servers.
MAX_LIST_LENGTH = 3000


def ensure_resource_class(session: Session, name: str) -> None:
    """Create the resource class unless it exists, in one request.

    :raises errors.Conflict: concurrent writes prevented it at every attempt
    :raises errors.Gone: it is a standard class that the service does not have
    :raises errors.Refused: the name is not valid for a custom class
    """
    # Standard classes come with the service: they can only be read.
    session.send(
        Request(
            'PUT' if name.startswith(CUSTOM) else 'GET',
            f'/resource_classes/{quoted(name)}',
            needs=frozenset({Feature.RESOURCE_CLASS_ENSURED}),
        )
    )


def ensure_traits(session: Session, names: Iterable[str]) -> None:
    """Create the traits that do not exist: one request to compare, and one for each missing.

    :raises errors.Conflict: concurrent writes prevented it at every attempt
    :raises errors.Gone: one is a standard trait that the service does not have
    :raises errors.Refused: one of the names is not valid for a custom trait
    """
    for some in _in_batches(sorted(set(names))):
        missing = set(some) - _existing(session, some)
        unknown = sorted(name for name in missing if not name.startswith(CUSTOM))
        if unknown:
            raise errors.Gone(f'the service does not have the traits {", ".join(unknown)}')
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


def _in_batches(names: Iterable[str]) -> Iterator[list[str]]:
    """The names in lists that fit into one request each."""
    some: list[str] = []
    length = 0
    for name in names:
        if some and length + len(name) >= MAX_LIST_LENGTH:
            yield some
            some, length = [], 0
        some.append(name)
        length += len(name) + 1
    if some:
        yield some
