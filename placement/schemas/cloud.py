# SPDX-License-Identifier: Apache-2.0
"""Queries of the cloud in bulk (specification: insight, "The cloud in bulk")."""

from __future__ import annotations

from placement.schemas import common
from placement.schemas.insight import PAGE_LIMIT_TEXT, ROW_NUMBER, TIME

# What can be included of each provider.
INCLUDABLE = ('inventories', 'usages', 'traits', 'aggregates', 'allocations')

_PAGE: common.Schema = {'page_limit': PAGE_LIMIT_TEXT, 'marker': common.UUID}


def providers(filters: common.Schema) -> common.Schema:
    """A page of providers, given the query of their list at the same version."""
    return common.with_properties(filters, {'include': {'type': 'string'}, **_PAGE})


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
