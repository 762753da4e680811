# SPDX-License-Identifier: Apache-2.0
"""The list of resource providers: its filters, and its JSON (specification: resource_providers).

There may be tens of thousands. So `views.provider` is rendered once in the shape of the requested
version, and the fields of each provider are inserted into the text, which takes a fraction of the
time of serialising each provider.
"""

import datetime
import functools
import itertools
import json
import re
from collections.abc import Iterable, Sequence
from json.encoder import encode_basestring_ascii as encode
from types import SimpleNamespace
from typing import Any

from placement.db.statements.provider_filters import ProviderFilters
from placement.http import querystring, views
from placement.http.microversion import Api, Shape
from placement.http.querystring import Query
from placement.http.reply import JSONPieces

LIST = 'resource_providers'

# Placeholders of the fields of a provider. No mount point has these characters, because WSGI
# decodes paths as Latin-1.
_MARKS = {
    'uuid': '\ue000',
    'name': '\ue001',
    'generation': '\ue002',
    'root_provider_uuid': '\ue003',
    'parent_provider_uuid': '\ue004',
}
# The uuid is a part of strings, the other fields are whole JSON values.
_MARKED = re.compile(r'\\ue00(0)|"\\ue00([1-4])"')

# The text before the first field, then (number of the field, text after it) for each.
Template = tuple[str, list[tuple[int, str]]]

# The columns that `db.statements.provider_filters` selects: uuid, name, generation, uuids of root
# and parent, time of the last modification, and id. They are read by position, because a lookup by
# name in a row of SQLAlchemy takes longer than rendering the provider. The time is a datetime, or
# the ISO 8601 text that SQLite stores.
ListedProvider = Sequence[Any]
MODIFIED_AT = 5

# Prefix of the message about traits that do not exist.
UNKNOWN_TRAITS = 'Invalid trait(s) in "required" parameter: '


def parse_filters(api: Api, query: Query) -> ProviderFilters:
    """The filters of a query.

    :raises errors.BadRequest: a parameter is invalid
    """
    member_of = querystring.parse_member_of(api, 'member_of', query.all('member_of'))
    required = querystring.parse_required(api, query.all('required'))
    resources = query.last('resources')
    return ProviderFilters(
        name=query.last('name') or None,
        uuid=query.last('uuid'),
        in_tree=query.last('in_tree'),
        member_of=member_of.required,
        forbidden_aggregates=member_of.forbidden,
        required_traits=required.required,
        forbidden_traits=required.forbidden,
        resources={} if resources is None else querystring.parse_resources(resources),
    )


def as_text(providers: Iterable[ListedProvider], mount_point: str, shape: Shape) -> JSONPieces:
    """The body of the list in a shape, equal to `views.provider` of each provider.

    Joins the columns, with the text that all providers have in common between them.
    """
    opening, parts = _template(mount_point, shape)
    fields = _fields(providers)
    columns: list[Iterable[str]] = [itertools.chain([opening], itertools.repeat(f', {opening}'))]
    for number, following in parts:
        columns += [fields[number], itertools.repeat(following)]
    text = ''.join(itertools.chain.from_iterable(zip(*columns, strict=False)))
    return JSONPieces([f'{{"{LIST}": [{text}]}}'.encode()])


def _fields(providers: Iterable[ListedProvider]) -> Sequence[Sequence[str]]:
    """The values of all providers by number of the field, as JSON except for the uuids."""
    uuids, names, generations, roots, parents, *_ = list(zip(*providers, strict=True)) or [()] * 5
    return (
        uuids,
        list(map(encode, names)),
        list(map(str, generations)),
        list(map(_encode_uuid, roots)),
        list(map(_encode_uuid, parents)),
    )


def latest_modification(providers: Iterable[ListedProvider]) -> datetime.datetime | None:
    """The latest modification of any provider, UTC without time zone."""
    times = [time for row in providers if (time := row[MODIFIED_AT]) is not None]
    # All times have one type, and texts of one format sort like times.
    latest = max(times, default=None)
    return datetime.datetime.fromisoformat(latest) if isinstance(latest, str) else latest


def _encode_uuid(uuid: str | None) -> str:
    return 'null' if uuid is None else f'"{uuid}"'


@functools.lru_cache(maxsize=16)
def _template(mount_point: str, shape: Shape) -> Template:
    """The text that all providers have in common."""
    view = views.provider(SimpleNamespace(**_MARKS), mount_point)
    (shown,) = shape.of({LIST: [view]})[LIST]
    opening, *rest = _MARKED.split(json.dumps(shown))
    numbers = [int(inner or whole) for inner, whole in zip(rest[::3], rest[1::3], strict=True)]
    return opening, list(zip(numbers, rest[2::3], strict=True))
