# SPDX-License-Identifier: Apache-2.0
"""Scenarios as clients write them (specification: insight, "Scenarios")."""

from placement.schemas import common, inventory
from placement.search.what_if.steps import MAX_TREES_ADDED

# Bounds on one scenario.
MAX_STEPS = 100
MAX_PROVIDERS = 10_000
MAX_CONSUMERS = 10_000

QUERY: common.Schema = {'type': 'string', 'minLength': 1, 'maxLength': 65_536}
UUID_OR_NAME: common.Schema = {'type': 'string', 'minLength': 1, 'maxLength': 200}

_NAME: common.Schema = {'type': 'string', 'minLength': 1, 'maxLength': 255}
_CLASS_NAME = '^[A-Z0-9_]{1,255}$'


def _list(items: common.Schema, most: int, least: int = 1) -> common.Schema:
    """A list without duplicates."""
    bounds = {'minItems': least, 'maxItems': most, 'uniqueItems': True}
    return {'type': 'array', 'items': items, **bounds}


def _names(items: common.Schema) -> common.Schema:
    """Names that are added and removed."""
    lists = {'add': _list(items, 1_000), 'remove': _list(items, 1_000)}
    return common.an_object(lists, required=(), minProperties=1)


_WHERE: common.Schema = {
    'anyOf': [
        _list(UUID_OR_NAME, MAX_PROVIDERS),
        common.an_object({'member_of': common.UUID}),
    ]
}
_CHANGE = common.an_object(
    {
        'where': _WHERE,
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
        'member_of': _list(common.UUID, 1_000, least=0),
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


def scenario(filters: common.Schema) -> common.Schema:
    """Steps with one verb each, given the filters of a list of consumers."""
    release = {
        'anyOf': [
            common.an_object({'consumers': _list(common.UUID, MAX_CONSUMERS)}),
            common.an_object(filters | {'provider': UUID_OR_NAME}, required=(), minProperties=1),
        ]
    }
    arguments = (_CHANGE, _ADD, _WHERE, release, _CLAIM)
    verbs = dict(zip(VERBS, arguments, strict=True))
    step = common.an_object(verbs, required=(), minProperties=1, maxProperties=1)
    return {'type': 'array', 'items': step, 'maxItems': MAX_STEPS}
