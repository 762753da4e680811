# SPDX-License-Identifier: Apache-2.0
"""Inventories (specification: inventories)."""

from placement.schemas import common

# The largest finite number of a single-precision float, which is what MySQL's FLOAT holds.
MAX_FLOAT = 3.40282e38

MEMBERS: common.Schema = {
    'total': {'type': 'integer', 'minimum': 1, 'maximum': common.MAX_INT},
    'reserved': {'type': 'integer', 'minimum': 0, 'maximum': common.MAX_INT},
    'min_unit': {'type': 'integer', 'minimum': 1, 'maximum': common.MAX_INT},
    'max_unit': {'type': 'integer', 'minimum': 1, 'maximum': common.MAX_INT},
    'step_size': {'type': 'integer', 'minimum': 1, 'maximum': common.MAX_INT},
    'allocation_ratio': {'type': 'number', 'maximum': MAX_FLOAT},
}
_GENERATION = {'resource_provider_generation': common.GENERATION}

# The generation is ignored where it stands beside the members of one class of several.
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
# A name that misses the pattern passes, to be reported as an unknown class; its value has
# to be an object all the same.
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
