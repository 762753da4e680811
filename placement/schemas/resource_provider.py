# SPDX-License-Identifier: Apache-2.0
"""Resource providers (specification: resource_providers)."""

from placement.schemas import common

# An empty name is refused by the object, which says why in words of its own.
NAME: common.Schema = {'type': 'string', 'maxLength': 200}

CREATE = common.an_object({'name': NAME, 'uuid': common.UUID}, required=('name',))
UPDATE = common.an_object({'name': NAME})

_PARENT = {'parent_provider_uuid': common.UUID_OR_NULL}
CREATE_NESTED = common.with_properties(CREATE, _PARENT)
UPDATE_NESTED = common.with_properties(UPDATE, _PARENT)

LIST = common.a_query({'name': {'type': 'string'}, 'uuid': common.UUID})
LIST_IN_AGGREGATES = common.with_properties(LIST, {'member_of': {'type': 'string'}})
LIST_WITH_RESOURCES = common.with_properties(LIST_IN_AGGREGATES, {'resources': {'type': 'string'}})
LIST_IN_TREE = common.with_properties(LIST_WITH_RESOURCES, {'in_tree': common.UUID})
LIST_WITH_TRAITS = common.with_properties(LIST_IN_TREE, {'required': {'type': 'string'}})
