# SPDX-License-Identifier: Apache-2.0
"""Traits (specification: traits)."""

from placement.schemas import common

_NAME = common.described(
    {'type': 'string'},
    '``in:TRAIT,TRAIT`` for those of these traits that exist, or ``startswith:PREFIX`` for all '
    'traits with this prefix.',
)
_ASSOCIATED = common.described(
    {'type': 'string'},
    '``true`` for traits that at least one provider has, ``false`` for traits that no provider '
    'has.',
)
LIST = common.a_query({'name': _NAME, 'associated': _ASSOCIATED})
SET = common.an_object(
    {
        'traits': {
            'type': 'array',
            'items': {'type': 'string', 'minLength': 1, 'maxLength': 255},
        },
        'resource_provider_generation': common.GENERATION,
    }
)
