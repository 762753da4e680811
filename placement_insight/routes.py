# SPDX-License-Identifier: Apache-2.0
"""Table of the routes below `/insight`."""

import contextlib
from typing import Any

from placement.http.reply import Handler
from placement.http.route import AddedRoute
from placement.http.service import Service
from placement.schemas.common import with_properties
from placement_insight import handlers as insight
from placement_insight.bulk import handlers as bulk
from placement_insight.demand import handlers as demand
from placement_insight.explain import handlers as explain
from placement_insight.history import handlers as history
from placement_insight.promises import handlers as promises
from placement_insight.questions import Insight
from placement_insight.what_if import handlers as what_if
from placement_insight.what_if import schemas as what_if_schemas

PATH = '/insight'


def _question(
    method: str, name: str, action: str, handler: Handler, below: str = '', **options: Any
) -> AddedRoute:
    """Return the route of a question, guarded by the option and the turn of its name.

    `below` is the rest of the path.
    """

    def guard(service: Service) -> contextlib.AbstractContextManager[None]:
        return service.part(Insight).question(name)

    path, action = f'{PATH}/{name}{below}', f'insight.{action}'
    return AddedRoute(method, path, action, handler=handler, guard=guard, **options)


# Questions with the query of a candidate search, at the versions that have one.
_SEARCH: dict[str, Any] = {'like': 'allocation_candidates.list', 'status_before': 400}

# fmt: off
ROUTES = (
    AddedRoute('GET', PATH, 'insight.show', handler=insight.show),
    _question('GET', 'allocation_candidates', 'explain', explain.explain,
        extends=lambda search: with_properties(search, explain.EXPLAIN), **_SEARCH),
    _question('POST', 'allocation_candidates', 'explain_after', explain.explain_after,
        body=explain.EXPLAIN_AFTER, **_SEARCH),
    _question('GET', 'capacity', 'capacity', explain.capacity,
        extends=lambda search: with_properties(search, explain.CAPACITY), **_SEARCH),
    _question('POST', 'capacity', 'capacities', explain.capacities,
        body=explain.CAPACITIES, **_SEARCH),
    _question('POST', 'survival', 'survival', what_if.survival,
        body=what_if_schemas.SURVIVAL, query=what_if.SURVIVAL_QUERY, **_SEARCH),
    _question('POST', 'drain', 'drain', what_if.drain, body=what_if_schemas.DRAIN, **_SEARCH),
    _question('POST', 'moves', 'moves', what_if.moves, body=what_if_schemas.MOVES, **_SEARCH),
    _question('GET', 'promises', 'promises', promises.list_promises, **_SEARCH),
    _question('GET', 'promises', 'promise', promises.show_promise, '/{name}', **_SEARCH),
    _question('GET', 'promises', 'promise_takers', promises.list_takers, '/{name}/takers',
        **_SEARCH),
    _question('PUT', 'promises', 'set_promise', promises.set_promise, '/{name}',
        body=promises.PROMISE, **_SEARCH),
    _question('DELETE', 'promises', 'delete_promise', promises.delete_promise, '/{name}',
        **_SEARCH),
    _question('GET', 'unmet_demand', 'unmet_demand', demand.list_unmet_demand,
        query=demand.LIST_UNMET_DEMAND),
    _question('GET', 'providers', 'providers', bulk.list_providers,
        like='resource_providers.list', extends=bulk.providers_query),
    _question('GET', 'consumers', 'consumers', bulk.list_consumers, query=bulk.CONSUMERS),
    _question('GET', 'usages', 'usages', bulk.list_usages, query=bulk.USAGES),
    _question('GET', 'changes', 'changes', bulk.list_changes, query=bulk.CHANGES),
    _question('GET', 'names', 'names', insight.show_names),
    _question('GET', 'history', 'history', history.list_changes, query=history.LIST_HISTORY),
)
# fmt: on
