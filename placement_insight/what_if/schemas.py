# SPDX-License-Identifier: Apache-2.0
"""Schemas of scenarios, and of questions about them (specification: insight)."""

from placement.schemas import common, inventory
from placement_insight import paging
from placement_insight.query_text import MAX_REQUESTS
from placement_insight.search.what_if.steps import MAX_TREES_ADDED

# Bounds on one scenario.
MAX_STEPS = 100
MAX_PROVIDERS = 10_000
MAX_CONSUMERS = 10_000
# Bounds on questions about survival, drains and moves.
MAX_DOMAINS = 1_000
MAX_MOVES = 20_000
MAX_SOURCES = 100

QUERY: common.Schema = {'type': 'string', 'minLength': 1, 'maxLength': 65_536}

_NAME: common.Schema = {'type': 'string', 'minLength': 1, 'maxLength': 255}
_CLASS_NAME = '^[A-Z0-9_]{1,255}$'


def a_list(items: common.Schema, max_items: int, min_items: int = 1) -> common.Schema:
    """Return the schema of a list without duplicates."""
    bounds = {'minItems': min_items, 'maxItems': max_items, 'uniqueItems': True}
    return {'type': 'array', 'items': items, **bounds}


def _names(items: common.Schema) -> common.Schema:
    """Return the schema of names to add and to remove."""
    lists = {'add': a_list(items, 1_000), 'remove': a_list(items, 1_000)}
    return common.an_object(lists, required=(), minProperties=1)


WHERE: common.Schema = {
    'anyOf': [
        a_list(common.UUID_OR_NAME, MAX_PROVIDERS),
        common.an_object({'member_of': common.UUID_AS_SPELLED}),
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
        'aggregates': _names(common.UUID_AS_SPELLED),
    },
    required=('where',),
    minProperties=2,
)
_ADD = common.an_object(
    {
        'like': common.UUID_OR_NAME,
        'count': {'type': 'integer', 'minimum': 1, 'maximum': MAX_TREES_ADDED},
        'member_of': a_list(common.UUID_AS_SPELLED, 1_000, min_items=0),
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
            paging.CONSUMER_FILTERS | {'provider': common.UUID_OR_NAME},
            required=(),
            minProperties=1,
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
_AGGREGATES = a_list(common.UUID_AS_SPELLED, MAX_DOMAINS)
# May be empty, as in clients that fill in a form.
_ANY_CONSUMERS = a_list(common.UUID, MAX_CONSUMERS, min_items=0)
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


REQUESTS = common.keyed_by(_ANY_NAME, QUERY, maxProperties=MAX_REQUESTS)
# The steps before the question, and the client's statements about consumers.
_TERMS: dict[str, common.Schema] = {
    'scenario': SCENARIO,
    'requests': REQUESTS,
    'asked': common.keyed_by(_ANY_NAME, _ANY_CONSUMERS, maxProperties=MAX_REQUESTS),
    'ignore': _ANY_CONSUMERS,
    'within': a_list(common.UUID_AS_SPELLED, MAX_DOMAINS, min_items=0),
    'apart': {'type': 'array', 'items': _ANY_CONSUMERS, 'maxItems': MAX_DOMAINS},
}
_MOVE = common.an_object(
    {
        'consumer': common.UUID,
        # A schema with two types is checked in half the time of `anyOf`, 20,000 times.
        'to': common.UUID_OR_NAME | {'type': ['string', 'null']},
        'from': a_list(common.UUID_OR_NAME, MAX_SOURCES),
        'request': {'type': 'string', 'pattern': _ANY_NAME},
    },
    required=('consumer', 'to'),
)


SURVIVAL = common.an_object({'lose': _LOSE, **_TERMS}, required=('lose',))
DRAIN = common.an_object({'providers': WHERE, 'consumers': _CONSUMERS, **_TERMS}, required=())
MOVES = common.an_object(
    {
        'moves': {'type': 'array', 'items': _MOVE, 'minItems': 1, 'maxItems': MAX_MOVES},
        'requests': REQUESTS,
        'at_once': {'type': 'boolean'},
        'evacuate': {'type': 'boolean'},
        'scenario': SCENARIO,
    },
    required=('moves',),
)
