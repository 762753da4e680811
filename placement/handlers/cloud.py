# SPDX-License-Identifier: Apache-2.0
"""The cloud in bulk (specification: insight, "The cloud in bulk")."""

from __future__ import annotations

from placement.db.statements.usage_sums import SummedBy
from placement.http import cloud_query, cloud_views, insight_query, insight_views, provider_query
from placement.http.reply import Reply
from placement.http.request import Request
from placement.objects import changes, cloud
from placement.policies import insight as policy

# What the sums of usages are called by, by what they are of.
NAMES = {
    SummedBy.PROJECT: 'project_id',
    SummedBy.USER: 'user_id',
    SummedBy.TYPE: 'consumer_type',
    SummedBy.AGGREGATE: 'aggregate',
}


def list_providers(request: Request) -> Reply:
    """List providers with everything that is known of them, a page of one moment at a time."""
    request.authorise(policy.PROVIDERS)
    with request.context.insight.question('providers'):
        query = request.validated_query('insight.providers')
        included = cloud_query.parse_include(query)
        filters = provider_query.parse(request.api, query)
        with provider_query.unknown_names_reported():
            page = cloud.list_providers(
                request.context,
                filters,
                query.last('marker'),
                insight_query.page_limit(query),
                with_allocations=cloud_views.ALLOCATIONS in included,
                not_before=cloud_query.parse_token(query, 'not_before'),
            )
        token = None if page.position is None else page.position.encoded()
        beside = {} if token is None else {'token': token}
        parameters = {}
        if page.has_more:
            # No later page may be of an earlier moment than the token.
            bound = {} if token is None else {'not_before': token}
            parameters = bound | {'marker': page.items[-1].row.uuid}
        items = cloud_views.providers_text(page.items, included)
        links = insight_views.links_with(
            request.mount_point, '/insight/providers', query, parameters
        )
    return Reply(cloud_views.page('providers', items, beside | links))


def list_changes(request: Request) -> Reply:
    """List providers that have changed since they were read, a page of one moment at a time."""
    request.authorise(policy.CHANGES)
    with request.context.insight.question('changes'):
        query = request.validated_query('insight.changes')
        included = cloud_query.parse_include(query)
        since = cloud_query.parse_token(query, 'since')
        assert since is not None
        found = changes.list_changes(
            request.context,
            since,
            insight_query.page_limit(query),
            with_allocations=cloud_views.ALLOCATIONS in included,
        )
        token = None if found.position is None else found.position.encoded()
        has_more = found.position is not None and found.position.has_more
        parameters = {'since': token} if has_more and token is not None else {}
        items = cloud_views.providers_text(found.providers, included)
        links = insight_views.links_with(
            request.mount_point, '/insight/changes', query, parameters
        )
    beside = {'deleted': found.deleted, 'complete': token is not None, 'token': token}
    return Reply(cloud_views.page('providers', items, beside | links))


def list_consumers(request: Request) -> Reply:
    """List consumers with what they hold, a page of one moment at a time."""
    request.authorise(policy.CONSUMERS)
    with request.context.insight.question('consumers'):
        query = request.validated_query('insight.consumers')
        page = cloud.list_consumers(
            request.context,
            cloud_query.parse_consumers(query),
            query.last('marker'),
            insight_query.page_limit(query),
        )
        marker = page.items[-1].row.uuid if page.has_more else None
        links = insight_views.links(request.mount_point, '/insight/consumers', query, marker)
    return Reply({'consumers': [cloud_views.consumer(one) for one in page.items]} | links)


def list_usages(request: Request) -> Reply:
    """List what is used by each project, user or type, or in each aggregate."""
    request.authorise(policy.USAGES)
    with request.context.insight.question('usages'):
        query = request.validated_query('insight.usages')
        by = SummedBy(query.last('by'))
        page = cloud.list_usage_sums(
            request.context,
            by,
            int(query.last('marker') or -1),
            insight_query.page_limit(query),
        )
        marker = page.items[-1].id if page.has_more else None
        links = insight_views.links(request.mount_point, '/insight/usages', query, marker)
    return Reply({'usages': [cloud_views.usage_sum(one, NAMES[by]) for one in page.items]} | links)
