# SPDX-License-Identifier: Apache-2.0
"""Queries and bodies of questions about capacity (specification: insight)."""

from placement.insight.pages import PAGE_LIMIT_TEXT
from placement.schemas import common

# Beside the query of a search for candidates.
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
