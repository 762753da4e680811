# SPDX-License-Identifier: Apache-2.0
"""Allocations and reshapes in all their generations (specification: allocations, reshaper)."""

from placement.schemas import common, inventory

# Limits of one write, far beyond real clients: the largest writes are reshapes of all consumers of
# one host. They keep a write within seconds, and each statement within the 65,535 parameters that
# PostgreSQL accepts. An amount is for one class of one provider and one consumer.
MAX_CONSUMERS = 20_000
MAX_AMOUNTS = 20_000


def _an_object(properties: common.Schema) -> common.Schema:
    """An object whose additional properties are reported before its missing ones."""
    schema = common.an_object(properties)
    schema['required'] = schema.pop('required')
    return schema


RESOURCES = common.keyed_by(
    common.RESOURCE_CLASS_PATTERN, {'type': 'integer', 'minimum': 1}, minProperties=1
)

SET_AS_LIST = _an_object(
    {
        'allocations': {
            'type': 'array',
            'minItems': 1,
            'items': common.an_object(
                {
                    'resource_provider': _an_object({'uuid': common.UUID}),
                    'resources': RESOURCES,
                }
            ),
        }
    }
)

_OWNER = {'project_id': common.EXTERNAL_ID, 'user_id': common.EXTERNAL_ID}
SET_AS_LIST_WITH_OWNER = common.with_properties(SET_AS_LIST, _OWNER, required=tuple(_OWNER))

# The generation is in the answer to GET; clients may send it back, and it is ignored.
_BY_PROVIDER = common.keyed_by(
    common.UUID_KEY_PATTERN,
    common.an_object(
        {'generation': common.GENERATION, 'resources': RESOURCES}, required=('resources',)
    ),
)
SET_BY_PROVIDER = _an_object({'allocations': _BY_PROVIDER | {'minProperties': 1}} | _OWNER)

# The new allocations of one consumer; an empty object removes all.
_CONSUMER = _an_object({'allocations': _BY_PROVIDER} | _OWNER)
SET_WITH_GENERATION = common.with_properties(
    _CONSUMER,
    {'consumer_generation': common.GENERATION_OR_NULL},
    required=('consumer_generation',),
)
SET_WITH_MAPPINGS = common.with_properties(
    SET_WITH_GENERATION,
    {
        'mappings': {
            'type': 'object',
            'minProperties': 1,
            'patternProperties': {
                '[a-zA-Z0-9_-]{1,64}': {'type': 'array', 'minItems': 1, 'items': common.UUID}
            },
        }
    },
)
SET_WITH_TYPE = common.with_properties(
    SET_WITH_MAPPINGS,
    {'consumer_type': {'pattern': common.CONSUMER_TYPE_PATTERN} | common.EXTERNAL_ID},
    required=('consumer_type',),
)


def _of_many(consumer: common.Schema) -> common.Schema:
    """The body for several consumers; their number is checked before their allocations."""
    return {'maxProperties': MAX_CONSUMERS} | common.keyed_by(
        common.UUID_KEY_PATTERN, consumer, minProperties=1
    )


SET_MANY = _of_many(_CONSUMER)
SET_MANY_WITH_GENERATION = _of_many(SET_WITH_GENERATION)
SET_MANY_WITH_MAPPINGS = _of_many(SET_WITH_MAPPINGS)
SET_MANY_WITH_TYPE = _of_many(SET_WITH_TYPE)

# Far beyond real clients: a reshape concerns one host.
MAX_PROVIDERS = 10_000


def _reshape(allocations: common.Schema) -> common.Schema:
    """Inventories of some providers and allocations of any number of consumers."""
    without_minimum = {k: v for k, v in allocations.items() if k != 'minProperties'}
    return common.an_object(
        {
            'inventories': {'maxProperties': MAX_PROVIDERS}
            | common.keyed_by(common.UUID_KEY_PATTERN, inventory.SET, minProperties=1),
            'allocations': without_minimum,
        }
    )


RESHAPE = _reshape(SET_MANY_WITH_GENERATION)
RESHAPE_WITH_MAPPINGS = _reshape(SET_MANY_WITH_MAPPINGS)
RESHAPE_WITH_TYPE = _reshape(SET_MANY_WITH_TYPE)
