# SPDX-License-Identifier: Apache-2.0
"""Resource providers (specification: resource_providers)."""

from placement.schemas import common

# An empty name is refused by the object, with a message of its own.
NAME: common.Schema = {'type': 'string', 'maxLength': 200}

CREATE = common.an_object({'name': NAME, 'uuid': common.UUID}, required=('name',))
UPDATE = common.an_object({'name': NAME})

_PARENT = {'parent_provider_uuid': common.UUID_OR_NULL}
CREATE_NESTED = common.with_properties(CREATE, _PARENT)
UPDATE_NESTED = common.with_properties(UPDATE, _PARENT)

_TEXT: common.Schema = {'type': 'string'}

_NAME = common.described(
    _TEXT, 'Return only the provider with exactly this name. An empty value does not filter.'
)
_UUID = common.described(
    common.UUID, 'Return only the provider with this uuid. Write it with dashes.'
)
_MEMBER_OF = common.described(_TEXT, 'Return only members of these aggregates. See below.')
_RESOURCES = common.described(
    _TEXT,
    'Return only providers that have room for these amounts on their own, as ``CLASS:AMOUNT``; '
    'separate several with commas. The filter takes into account the usage, the reserved amount, '
    'the unit and step sizes and the allocation ratio, but no other provider of the tree.',
)
_IN_TREE = common.described(
    common.UUID, 'Return only providers of the tree that this provider belongs to.'
)
_REQUIRED = common.described(_TEXT, 'Return only providers that have these traits. See below.')

LIST = common.a_query({'name': _NAME, 'uuid': _UUID})
LIST_IN_AGGREGATES = common.with_properties(LIST, {'member_of': _MEMBER_OF})
LIST_WITH_RESOURCES = common.with_properties(LIST_IN_AGGREGATES, {'resources': _RESOURCES})
LIST_IN_TREE = common.with_properties(LIST_WITH_RESOURCES, {'in_tree': _IN_TREE})
LIST_WITH_TRAITS = common.with_properties(LIST_IN_TREE, {'required': _REQUIRED})
