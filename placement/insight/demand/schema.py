# SPDX-License-Identifier: Apache-2.0
"""The query of unmet demand (specification: insight)."""

from placement.insight.pages import PAGE_LIMIT_TEXT, REQUEST_ID, ROW_NUMBER, TIME
from placement.schemas import common

LIST_UNMET_DEMAND = common.a_query(
    {
        'since': TIME,
        'global_request_id': REQUEST_ID,
        'page_limit': PAGE_LIMIT_TEXT,
        'marker': ROW_NUMBER,
    }
)
