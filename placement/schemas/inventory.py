# SPDX-License-Identifier: Apache-2.0
"""Inventories (specification: inventories)."""

from placement.schemas import common

# The largest finite single-precision float, the type of MySQL's FLOAT.
MAX_FLOAT = 3.40282e38

MEMBERS: common.Schema = {
    'total': {'type': 'integer', 'minimum': 1, 'maximum': common.MAX_INT},
    'reserved': {'type': 'integer', 'minimum': 0, 'maximum': common.MAX_INT},
    'min_unit': {'type': 'integer', 'minimum': 1, 'maximum': common.MAX_INT},
    'max_unit': {'type': 'integer', 'minimum': 1, 'maximum': common.MAX_INT},
    'step_size': {'type': 'integer', 'minimum': 1, 'maximum': common.MAX_INT},
    'allocation_ratio': {'type': 'number', 'minimum': -MAX_FLOAT, 'maximum': MAX_FLOAT},
}
_GENERATION = {'resource_provider_generation': common.GENERATION}

# The generation within one class of several is ignored.
_INVENTORY = common.an_object(_GENERATION | MEMBERS, required=('total',))

CREATE = common.an_object(
    _GENERATION
    | {'resource_class': {'type': 'string', 'pattern': common.RESOURCE_CLASS_PATTERN}}
    | MEMBERS,
    required=('total', 'resource_class'),
)
UPDATE = common.an_object(
    _GENERATION | MEMBERS, required=('total', 'resource_provider_generation')
)
# A name that does not match the pattern passes, and is reported as an unknown class later; its
# value must be an object nevertheless.
SET = common.an_object(
    _GENERATION
    | {
        'inventories': {
            'type': 'object',
            'patternProperties': {common.RESOURCE_CLASS_PATTERN: _INVENTORY},
            'additionalProperties': {'type': 'object'},
        }
    }
)
