# SPDX-License-Identifier: Apache-2.0
"""Usages of providers, projects and users (specification: usages)."""

from placement.http import views
from placement.http.reply import Reply
from placement.http.request import Request
from placement.objects.resource_provider import ResourceProvider
from placement.objects.usage import UsageList


def show_provider(request: Request) -> Reply:
    """Show the usage of each class of a provider."""
    provider, usages = ResourceProvider.get_with(
        request.context, request.urlvars['uuid'], UsageList.list_by_provider
    )
    return Reply(views.provider_usages(provider.generation, usages))


def show_total(request: Request) -> Reply:
    """Show the usages of a project, or of one user of it, by type of consumer."""
    query = request.validated_query('usages.show')
    project_id = query.last('project_id')
    assert project_id is not None
    usages = UsageList.get_by_project(request.context, project_id, query.last('user_id'))
    return Reply(views.usages_by_type(usages, query.last('consumer_type')))
