# SPDX-License-Identifier: Apache-2.0
"""The list of resource providers: its filters, and its JSON (specification: resource_providers).

There may be tens of thousands. The text of each is that of `views.provider`. For 10,000 providers
that takes 12 ms of CPU, making and encoding the values of each takes 85 ms.
"""

import datetime
import functools
import json
from collections.abc import Iterable, Sequence
from json.encoder import encode_basestring_ascii as encode
from types import SimpleNamespace
from typing import Any

from placement.db.statements.provider_filters import ProviderFilters
from placement.http import querystring, views
from placement.http.microversion import Api
from placement.http.querystring import Query
from placement.http.reply import JSONPieces

# In the place of the uuid, in the links of which the text of all others is made. No mount point
# has this character, because WSGI decodes paths as Latin-1.
MARK = '\ue000'

# The columns that `db.statements.provider_filters` selects: uuid, name, generation, uuids of root
# and parent, when it was last modified, and the id. They are read by position, because a row of
# SQLAlchemy takes longer to find one by its name than the text of the provider takes to be made.
# The time is a datetime, or the ISO 8601 text that SQLite stores.
ListedProvider = Sequence[Any]
MODIFIED_AT = 5

# The words before those of an error about traits that do not exist.
UNKNOWN_TRAITS = 'Invalid trait(s) in "required" parameter: '


def parse_filters(api: Api, query: Query) -> ProviderFilters:
    """The filters that a query asks for; raises `errors.BadRequest`."""
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


def as_text(providers: Iterable[ListedProvider], mount_point: str) -> JSONPieces:
    """The body of the list, the same as `views.provider` of each would make."""
    links = _links(mount_point)
    texts = [
        f'{{"uuid": "{uuid}", "name": {encode(name)}, "generation": {generation}, '
        f'"links": {uuid.join(links)}, "parent_provider_uuid": {_encode_uuid(parent)}, '
        f'"root_provider_uuid": {_encode_uuid(root)}}}'
        for uuid, name, generation, root, parent, _modified_at, _id in providers
    ]
    return JSONPieces([f'{{"resource_providers": [{", ".join(texts)}]}}'.encode()])


def latest_modification(providers: Iterable[ListedProvider]) -> datetime.datetime | None:
    """The time, UTC without time zone, at which any of the providers was last modified."""
    times = [time for row in providers if (time := row[MODIFIED_AT]) is not None]
    # All are of one type, and the texts of one format sort like the times that they stand for.
    latest = max(times, default=None)
    return datetime.datetime.fromisoformat(latest) if isinstance(latest, str) else latest


def _encode_uuid(uuid: str | None) -> str:
    return 'null' if uuid is None else f'"{uuid}"'


@functools.lru_cache(maxsize=16)
def _links(mount_point: str) -> tuple[str, ...]:
    """The JSON text of the links of a provider, divided where its uuid goes."""
    unnamed = dict.fromkeys(('name', 'generation', 'parent_provider_uuid', 'root_provider_uuid'))
    view = views.provider(SimpleNamespace(uuid=MARK, **unnamed), mount_point)
    return tuple(json.dumps(view['links']).split(json.dumps(MARK)[1:-1]))
