# SPDX-License-Identifier: Apache-2.0
"""Queries of what is below `/insight` (specification: insight)."""

from __future__ import annotations

from placement.schemas import common

# A page has so many elements unless a request says otherwise, and 1,000 at most.
PAGE_LIMIT = 100
PAGE_LIMIT_TEXT: common.Schema = {'type': 'string', 'pattern': '^([1-9][0-9]{0,2}|1000)$'}
# The number of a row. Larger ones than any row has are no error.
ROW_NUMBER: common.Schema = {'type': 'string', 'pattern': '^[0-9]{1,18}$'}
_REQUEST_ID: common.Schema = {
    'type': 'string',
    'pattern': '^req-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}$',
}
# Whether it is a time that exists is up to whoever reads it.
TIME: common.Schema = {
    'type': 'string',
    'pattern': '^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:.]{5,15}(Z|[+-][0-9]{2}:?[0-9]{2})?)?$',
}

# Beside the query of a search for candidates.
EXPLAIN: common.Schema = {'provider': {'type': 'string', 'minLength': 1, 'maxLength': 200}}

CAPACITY: common.Schema = {
    'by': {'type': 'string', 'enum': ['root']},
    'page_limit': PAGE_LIMIT_TEXT,
    'marker': {'type': 'string', 'format': 'uuid'},
}

# How many requests one question may ask about: each may take a tenth of a second, beside the
# claims, whose budget they share.
MAX_REQUESTS = 100
CAPACITIES = common.an_object(
    {
        'requests': common.keyed_by(
            '^.{1,255}$',
            {'type': 'string', 'minLength': 1, 'maxLength': 65_536},
            minProperties=1,
            maxProperties=MAX_REQUESTS,
        )
    }
)

LIST_HISTORY = common.a_query(
    {
        'provider': common.UUID,
        'consumer': common.UUID,
        'request_id': _REQUEST_ID,
        'global_request_id': _REQUEST_ID,
        'since': TIME,
        'page_limit': PAGE_LIMIT_TEXT,
        'marker': ROW_NUMBER,
    }
)

LIST_UNMET_DEMAND = common.a_query(
    {
        'since': TIME,
        'global_request_id': _REQUEST_ID,
        'page_limit': PAGE_LIMIT_TEXT,
        'marker': ROW_NUMBER,
    }
)
