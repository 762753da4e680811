# SPDX-License-Identifier: Apache-2.0
"""Queries of candidate searches (specification: allocation_candidates, "Request grammar")."""

from placement.schemas import common

# What may follow the name of a parameter that belongs to a group.
NUMBER = '([1-9][0-9]*)?'
WORD = '([a-zA-Z0-9_-]{1,64})?'

_TEXT: common.Schema = {'type': 'string'}

LIST = common.a_query({'resources': _TEXT}, required=('resources',))
LIST_LIMITED = common.with_properties(
    LIST, {'limit': {'type': 'string', 'pattern': '^[1-9][0-9]*$', 'minLength': 1}}
)
LIST_WITH_TRAITS = common.with_properties(LIST_LIMITED, {'required': _TEXT})
LIST_IN_AGGREGATES = common.with_properties(LIST_WITH_TRAITS, {'member_of': _TEXT})


def _in_groups(suffix: str, names: tuple[str, ...]) -> common.Schema:
    """A query with groups: parameters of these names, each with any suffix of a form."""
    return {
        'type': 'object',
        'properties': {
            'limit': LIST_LIMITED['properties']['limit'],
            'group_policy': {'type': 'string', 'enum': ['none', 'isolate']},
        },
        'patternProperties': {f'^{name}{suffix}$': _TEXT for name in names},
        'additionalProperties': False,
    }


_GROUP_PARAMETERS = ('resources', 'required', 'member_of')
LIST_IN_GROUPS = _in_groups(NUMBER, _GROUP_PARAMETERS)
LIST_IN_TREE = _in_groups(NUMBER, (*_GROUP_PARAMETERS, 'in_tree'))
LIST_WITH_SUFFIXES = _in_groups(WORD, (*_GROUP_PARAMETERS, 'in_tree'))
LIST_BY_ROOT = common.with_properties(LIST_WITH_SUFFIXES, {'root_required': _TEXT})
LIST_IN_SUBTREE = common.with_properties(LIST_BY_ROOT, {'same_subtree': _TEXT})
