# SPDX-License-Identifier: Apache-2.0
"""Changes of the cloud (specification: insight, "GET /insight/changes")."""

import datetime
import re
from typing import Any

from placement.feed.follower_token import FollowerToken
from placement.http.querystring import Query
from placement.http.reply import Reply
from placement.http.request import Request
from placement.insight.bulk import views
from placement.insight.bulk.handlers import BY_ROOT, INCLUDE, TOKEN, parse_include, parse_token
from placement.insight.changes import pages
from placement.insight.paging import PAGE_LIMIT_TEXT, TIME, links_with, page_limit, parse_time
from placement.policies import rules
from placement.schemas import common

_TOKEN_OR_TIME: common.Schema = {
    'type': 'string',
    'pattern': f'{TOKEN["pattern"]}|{TIME["pattern"]}',
}

CHANGES = common.a_query(
    {'since': _TOKEN_OR_TIME, 'by': BY_ROOT, 'include': INCLUDE, 'page_limit': PAGE_LIMIT_TEXT},
    required=('since',),
)


def parse_since(query: Query) -> FollowerToken | datetime.datetime:
    """The moment since which changes are wanted: that of a token, or a time, UTC without zone.

    Raises `errors.InvalidQuery` for what is no token of this release, and for a time that does
    not exist.
    """
    parse = parse_time if re.fullmatch(TIME['pattern'], query.last('since') or '') else parse_token
    since = parse(query, 'since')
    assert since is not None
    return since


def list_changes(request: Request) -> Reply:
    """List providers or trees that have changed since, a page of one moment at a time."""
    request.authorise(rules.LIST_CHANGES)
    with request.context.insight.question('changes'):
        query = request.validated_query('insight.changes')
        included = parse_include(query)
        since, limit = parse_since(query), page_limit(query)
        changes: pages.Changes[Any]
        if 'by' in query:
            name, changes = 'trees', pages.list_changed_trees(request.context, since, limit)
            items = views.trees_text(changes.items, included)
        else:
            with_allocations = views.ALLOCATIONS in included
            changes = pages.list_changes(request.context, since, limit, with_allocations)
            name, items = 'providers', views.providers_text(changes.items, included)
        token = None if changes.token is None else changes.token.encoded()
        has_more = changes.token is not None and changes.token.has_more
        parameters = {'since': token} if has_more and token is not None else {}
        following = links_with(request, 'changes', query, parameters)
    beside = {'deleted': changes.deleted, 'complete': token is not None, 'token': token}
    return Reply(views.page(name, items, beside | following))
