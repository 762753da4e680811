# SPDX-License-Identifier: Apache-2.0
"""The cloud in bulk (specification: insight, "The cloud in bulk")."""

from placement.http import provider_list
from placement.http.reply import Reply
from placement.http.request import Request
from placement.insight.bulk import pages, views
from placement.insight.bulk.query import parse_consumers, parse_include, parse_token
from placement.insight.bulk.statements import SummedBy
from placement.insight.pages import links, links_with, page_limit, parse_row_marker
from placement.policies import rules

# What the sums of usages are called by, by what they are of.
NAMES = {
    SummedBy.PROJECT: 'project_id',
    SummedBy.USER: 'user_id',
    SummedBy.TYPE: 'consumer_type',
    SummedBy.AGGREGATE: 'aggregate',
}


def list_providers(request: Request) -> Reply:
    """List providers with everything that is known of them, a page of one moment at a time."""
    request.authorise(rules.LIST_CLOUD_PROVIDERS)
    with request.context.insight.question('providers'):
        query = request.validated_query('insight.providers')
        included = parse_include(query)
        filters = provider_list.parse_filters(request.api, query)
        with provider_list.unknown_names_reported():
            page = pages.list_providers(
                request.context,
                filters,
                query.last('marker'),
                page_limit(query),
                with_allocations=views.ALLOCATIONS in included,
                not_before=parse_token(query, 'not_before'),
            )
        token = None if page.position is None else page.position.encoded()
        beside = {} if token is None else {'token': token}
        parameters = {}
        if page.has_more:
            # No later page may be of an earlier moment than the token.
            bound = {} if token is None else {'not_before': token}
            parameters = bound | {'marker': page.items[-1].row.uuid}
        items = views.providers_text(page.items, included)
    following = links_with(request, 'providers', query, parameters)
    return Reply(views.page('providers', items, beside | following))


def list_consumers(request: Request) -> Reply:
    """List consumers with what they hold, a page of one moment at a time."""
    request.authorise(rules.LIST_CONSUMERS)
    with request.context.insight.question('consumers'):
        query = request.validated_query('insight.consumers')
        page = pages.list_consumers(
            request.context,
            parse_consumers(query),
            query.last('marker'),
            page_limit(query),
        )
    consumers = [views.consumer(consumer) for consumer in page.items]
    return Reply({'consumers': consumers} | links(request, 'consumers', query, page, 'row.uuid'))


def list_usages(request: Request) -> Reply:
    """List what is used by each project, user or type, or in each aggregate."""
    request.authorise(rules.LIST_USAGE_SUMS)
    with request.context.insight.question('usages'):
        query = request.validated_query('insight.usages')
        by = SummedBy(query.last('by'))
        page = pages.list_usage_sums(
            request.context,
            by,
            parse_row_marker(query),
            page_limit(query),
        )
    usages = [views.usage_sum(usage, NAMES[by]) for usage in page.items]
    return Reply({'usages': usages} | links(request, 'usages', query, page))
