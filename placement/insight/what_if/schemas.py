# SPDX-License-Identifier: Apache-2.0
"""Scenarios, and questions about them, as clients write them (specification: insight)."""

from placement.schemas import common, inventory
from placement.search.what_if.steps import MAX_TREES_ADDED

# Bounds on one scenario.
MAX_STEPS = 100
MAX_PROVIDERS = 10_000
MAX_CONSUMERS = 10_000
# Bounds on questions about survival, drains and moves.
MAX_DOMAINS = 1_000
MAX_REQUESTS = 100
MAX_MOVES = 20_000
MAX_SOURCES = 100

QUERY: common.Schema = {'type': 'string', 'minLength': 1, 'maxLength': 65_536}
UUID_OR_NAME: common.Schema = {'type': 'string', 'minLength': 1, 'maxLength': 200}

_NAME: common.Schema = {'type': 'string', 'minLength': 1, 'maxLength': 255}
_CLASS_NAME = '^[A-Z0-9_]{1,255}$'


def a_list(items: common.Schema, most: int, least: int = 1) -> common.Schema:
    """A list without duplicates."""
    bounds = {'minItems': least, 'maxItems': most, 'uniqueItems': True}
    return {'type': 'array', 'items': items, **bounds}


def _names(items: common.Schema) -> common.Schema:
    """Names that are added and removed."""
    lists = {'add': a_list(items, 1_000), 'remove': a_list(items, 1_000)}
    return common.an_object(lists, required=(), minProperties=1)


WHERE: common.Schema = {
    'anyOf': [
        a_list(UUID_OR_NAME, MAX_PROVIDERS),
        common.an_object({'member_of': common.UUID}),
    ]
}
_CHANGE = common.an_object(
    {
        'where': WHERE,
        'inventories': common.keyed_by(
            _CLASS_NAME,
            common.an_object(inventory.MEMBERS, required=(), minProperties=1),
            minProperties=1,
        ),
        'traits': _names(_NAME),
        'aggregates': _names(common.UUID),
    },
    required=('where',),
    minProperties=2,
)
_ADD = common.an_object(
    {
        'like': UUID_OR_NAME,
        'count': {'type': 'integer', 'minimum': 1, 'maximum': MAX_TREES_ADDED},
        'member_of': a_list(common.UUID, 1_000, least=0),
    },
    required=('like', 'count'),
)
_CLAIM = common.an_object(
    {
        'query': QUERY,
        'count': {'type': 'integer', 'minimum': 1, 'maximum': MAX_CONSUMERS},
    }
)

VERBS = ('change', 'add', 'remove', 'release', 'claim')


_ANY_NAME = '^.{1,255}$'
_CONSUMERS = a_list(common.UUID, MAX_CONSUMERS)
_RELEASE = {
    'anyOf': [
        common.an_object({'consumers': _CONSUMERS}),
        common.an_object(
            common.CONSUMER_FILTERS | {'provider': UUID_OR_NAME}, required=(), minProperties=1
        ),
    ]
}
_STEP = common.an_object(
    dict(zip(VERBS, (_CHANGE, _ADD, WHERE, _RELEASE, _CLAIM), strict=True)),
    required=(),
    minProperties=1,
    maxProperties=1,
)
SCENARIO: common.Schema = {'type': 'array', 'items': _STEP, 'maxItems': MAX_STEPS}
_AGGREGATES = a_list(common.UUID, MAX_DOMAINS)
_LOSE: common.Schema = {
    'anyOf': [
        common.an_object({'each': {'type': 'string', 'enum': ['root']}}),
        common.an_object({'each': {'type': 'string', 'enum': ['aggregate']}, 'of': _AGGREGATES}),
        common.an_object(
            {
                'domains': common.keyed_by(
                    _ANY_NAME, WHERE, minProperties=1, maxProperties=MAX_DOMAINS
                )
            }
        ),
    ]
}


_BY_REQUEST = {'minProperties': 1, 'maxProperties': MAX_REQUESTS}
_REQUESTS = common.keyed_by(_ANY_NAME, QUERY, **_BY_REQUEST)
# The steps before, and what the caller knows of consumers that lose their trees.
_TERMS: dict[str, common.Schema] = {
    'scenario': SCENARIO,
    'requests': _REQUESTS,
    'asked': common.keyed_by(_ANY_NAME, _CONSUMERS, **_BY_REQUEST),
    'ignore': _CONSUMERS,
    'within': _AGGREGATES,
    'apart': {
        'type': 'array',
        'items': a_list(common.UUID, MAX_CONSUMERS, least=2),
        'maxItems': MAX_DOMAINS,
    },
}
_MOVE = common.an_object(
    {
        'consumer': common.UUID,
        # One type of two is checked in half the time of one schema of two, 20,000 times.
        'to': UUID_OR_NAME | {'type': ['string', 'null']},
        'from': a_list(UUID_OR_NAME, MAX_SOURCES),
        'request': {'type': 'string', 'pattern': _ANY_NAME},
    },
    required=('consumer', 'to'),
)


SURVIVAL = common.an_object({'lose': _LOSE, **_TERMS}, required=('lose',))
DRAIN = common.an_object({'providers': WHERE, 'consumers': _CONSUMERS, **_TERMS}, required=())
MOVES = common.an_object(
    {
        'moves': {'type': 'array', 'items': _MOVE, 'minItems': 1, 'maxItems': MAX_MOVES},
        'requests': _REQUESTS,
        'at_once': {'type': 'boolean'},
        'evacuate': {'type': 'boolean'},
        'scenario': SCENARIO,
    },
    required=('moves',),
)
