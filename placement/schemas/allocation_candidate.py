# SPDX-License-Identifier: Apache-2.0
"""Queries of candidate searches (specification: allocation_candidates, "Request grammar")."""

from placement.schemas import common

# The suffixes of a group's parameters.
NUMBER = '([1-9][0-9]*)?'
WORD = '([a-zA-Z0-9_-]{1,64})?'

_TEXT: common.Schema = {'type': 'string'}

_IN_TREE = common.described(_TEXT, 'Use only providers of the tree that this provider belongs to.')

_LIMIT = common.described(
    {'type': 'string', 'pattern': '^[1-9][0-9]*$', 'minLength': 1},
    'The largest number of candidates to return.',
)
_GROUP_POLICY = common.described(
    {'type': 'string', 'enum': ['none', 'isolate']},
    '``isolate`` if different providers have to serve the groups with a suffix, ``none`` if one '
    'provider may serve several of them. Required if there is more than one such group.',
)
_ROOT_REQUIRED = common.described(
    _TEXT,
    'Traits that the root of the tree must have, or ``!TRAIT`` for a trait that it must not have.',
)
_SAME_SUBTREE = common.described(
    _TEXT,
    'Suffixes of groups. One of the providers that serve these groups has to be the ancestor of '
    'all the others, or one provider has to serve all of the groups. If the parameter is '
    'repeated, each value is a condition of its own.',
)

LIST = common.a_query({'resources': _TEXT}, required=('resources',))
LIST_LIMITED = common.with_properties(LIST, {'limit': _LIMIT})
LIST_WITH_TRAITS = common.with_properties(LIST_LIMITED, {'required': _TEXT})
LIST_IN_AGGREGATES = common.with_properties(LIST_WITH_TRAITS, {'member_of': _TEXT})


def _in_groups(suffix: str, parameters: common.Schema) -> common.Schema:
    """A query with groups: parameters with any suffix of this form."""
    return {
        'type': 'object',
        'properties': {
            'limit': _LIMIT,
            'group_policy': _GROUP_POLICY,
        },
        'patternProperties': {f'^{name}{suffix}$': value for name, value in parameters.items()},
        'additionalProperties': False,
    }


_GROUP_PARAMETERS = {'resources': _TEXT, 'required': _TEXT, 'member_of': _TEXT}
LIST_IN_GROUPS = _in_groups(NUMBER, _GROUP_PARAMETERS)
LIST_IN_TREE = _in_groups(NUMBER, _GROUP_PARAMETERS | {'in_tree': _IN_TREE})
LIST_WITH_SUFFIXES = _in_groups(WORD, _GROUP_PARAMETERS | {'in_tree': _IN_TREE})
LIST_BY_ROOT = common.with_properties(LIST_WITH_SUFFIXES, {'root_required': _ROOT_REQUIRED})
LIST_IN_SUBTREE = common.with_properties(LIST_BY_ROOT, {'same_subtree': _SAME_SUBTREE})
