# SPDX-License-Identifier: Apache-2.0
"""Usages of a project (specification: usages)."""

from placement.schemas import common

ALL_TYPES = 'all'
UNKNOWN_TYPE = 'unknown'

SHOW = common.a_query(
    {'project_id': common.EXTERNAL_ID, 'user_id': common.EXTERNAL_ID}, required=('project_id',)
)
SHOW_BY_TYPE = common.with_properties(
    SHOW,
    {'consumer_type': {'pattern': '^[A-Z0-9_]+$|^all|^unknown$'} | common.EXTERNAL_ID},
)
