# SPDX-License-Identifier: Apache-2.0
"""Traits (specification: traits)."""

from placement.schemas import common

LIST = common.a_query({'name': {'type': 'string'}, 'associated': {'type': 'string'}})
SET = common.an_object(
    {
        'traits': {
            'type': 'array',
            'items': {'type': 'string', 'minLength': 1, 'maxLength': 255},
        },
        'resource_provider_generation': common.GENERATION,
    }
)
