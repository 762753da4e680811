# SPDX-License-Identifier: Apache-2.0
"""Usages of a project (specification: usages)."""

from placement.schemas import common

ALL_TYPES = 'all'
UNKNOWN_TYPE = 'unknown'

_PROJECT = common.described(common.EXTERNAL_ID, 'The id of the project, 1 to 255 characters.')
_USER = common.described(common.EXTERNAL_ID, 'Count only consumers of this user.')
_CONSUMER_TYPE = common.described(
    {'pattern': '^[A-Z0-9_]+$|^all|^unknown$'} | common.EXTERNAL_ID,
    'Count only consumers of this type; ``unknown`` for consumers without a type; ``all`` for all '
    'types together.',
)

SHOW = common.a_query({'project_id': _PROJECT, 'user_id': _USER}, required=('project_id',))
SHOW_BY_TYPE = common.with_properties(SHOW, {'consumer_type': _CONSUMER_TYPE})
