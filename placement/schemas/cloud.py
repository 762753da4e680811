# SPDX-License-Identifier: Apache-2.0
"""Queries of the cloud in bulk (specification: insight, "The cloud in bulk")."""

from __future__ import annotations

from placement.schemas import common
from placement.schemas.insight import PAGE_LIMIT_TEXT, ROW_NUMBER, TIME

# What can be included of each provider.
INCLUDABLE = ('inventories', 'usages', 'traits', 'aggregates', 'allocations')

_INCLUDE: common.Schema = {'type': 'string'}

# How far somebody has read the changes of the cloud. Whether it is one is up to whoever reads it.
TOKEN: common.Schema = {'type': 'string', 'pattern': '^[A-Za-z0-9_-]{1,200}$'}

_PAGE: common.Schema = {'page_limit': PAGE_LIMIT_TEXT, 'marker': common.UUID}


def providers(filters: common.Schema) -> common.Schema:
    """A page of providers, given the query of their list at the same version."""
    beside = {'include': _INCLUDE, 'not_before': TOKEN, **_PAGE}
    return common.with_properties(filters, beside)


CHANGES = common.a_query(
    {'since': TOKEN, 'include': _INCLUDE, 'page_limit': PAGE_LIMIT_TEXT}, required=('since',)
)


CONSUMERS = common.a_query(
    {
        'project_id': common.EXTERNAL_ID,
        'user_id': common.EXTERNAL_ID,
        'type': {'pattern': '^([A-Z0-9_]+|unknown)$'} | common.EXTERNAL_ID,
        'provider': common.UUID,
        'older_than': TIME,
        **_PAGE,
    }
)
USAGES = common.a_query(
    {
        'by': {'type': 'string', 'enum': ['project', 'user', 'type', 'aggregate']},
        'page_limit': PAGE_LIMIT_TEXT,
        'marker': ROW_NUMBER,
    },
    required=('by',),
)
