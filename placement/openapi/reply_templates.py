# SPDX-License-Identifier: Apache-2.0
"""Templates of the successful replies of every handler, in the newest shape.

The tests compare them with the responses of the service at every microversion.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placement.db.statements.change_history import Kind
from placement.handlers import (
    aggregates,
    allocation_candidates,
    allocations,
    change_history,
    cloud,
    insight,
    inventories,
    reshaper,
    resource_classes,
    resource_providers,
    root,
    traits,
    usages,
)
from placement.http import insight_views, views
from placement.http.conversions import CONSUMER_COUNT
from placement.http.microversion import Handler
from placement.http.reply import CREATED, NO_CONTENT, Reply
from placement.openapi.template import Name, Value, described
from placement.schemas import common, inventory

TEXT = Value({'type': 'string'})
COUNT = Value({'type': 'integer', 'minimum': 0})
# Negative where less than the used amount is left, or less than the reserved amount.
CAPACITY = Value({'type': 'integer'})
GENERATION = Value(common.GENERATION)
PROVIDER = Name('^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')
PROVIDER_OR_NULL = Value({'type': ['string', 'null'], 'pattern': str(PROVIDER)})
# Consumers and aggregates are kept as they were spelled.
CONSUMER = Name(common.UUID_KEY_PATTERN)
AGGREGATE = Value({'type': 'string'})
RESOURCE_CLASS = Name(common.RESOURCE_CLASS_PATTERN)
TRAIT = Name('^[A-Z0-9_]+$')
CONSUMER_TYPE = Name('^([A-Z0-9_]+|all|unknown)$')
SUFFIX = Name('^[a-zA-Z0-9_-]{0,64}$')
FLAG = Value({'type': 'boolean'})
NUMBER_OR_NULL = Value({'type': ['integer', 'null']})
TEXT_OR_NULL = Value({'type': ['string', 'null']})
TIME = Value({'type': 'string', 'format': 'date-time'})
VERDICT_OF_NOTHING = Value({'type': 'string', 'enum': list(insight_views.VERDICTS)})
VERDICT = Value({'type': 'string', 'enum': ['fits', *insight_views.VERDICTS]})
VERSION = Value({'type': 'string', 'pattern': r'^[1-9][0-9]*\.[0-9]+$'})

_WITH_GENERATION = {'resource_provider_generation': GENERATION}


def _optional(value: Value | Name) -> Value:
    return Value(value.schema, optional=True)


def _included(template: Any) -> Value:
    """What is there when the request includes it."""
    return Value(described(template), optional=True)


def _links(*relations: str) -> list[dict[str, Any]]:
    return [{'rel': relation, 'href': TEXT} for relation in relations]


_PROVIDER = {
    'uuid': PROVIDER,
    'name': TEXT,
    'generation': GENERATION,
    'links': _links('self', *views.PROVIDER_LINKS),
    'parent_provider_uuid': PROVIDER_OR_NULL,
    'root_provider_uuid': PROVIDER,
}
_INVENTORY = {name: Value(inventory.MEMBERS[name]) for name in views.INVENTORY_MEMBERS}
# An empty list of inventories has no time of modification.
_INVENTORIES = Reply(
    _WITH_GENERATION | {'inventories': {RESOURCE_CLASS: _INVENTORY}}, omit_last_modified=True
)
_CLASS = {'name': RESOURCE_CLASS, 'links': _links('self')}
_AGGREGATES = {'aggregates': [AGGREGATE]} | _WITH_GENERATION
_TRAITS = {'traits': [TRAIT]} | _WITH_GENERATION
_RESOURCES = {'resources': {RESOURCE_CLASS: COUNT}}
_USAGES = {'usages': {CONSUMER_TYPE: {CONSUMER_COUNT: COUNT, RESOURCE_CLASS: COUNT}}}
# A consumer without allocations does not exist, and has no other members.
_CONSUMER = {
    'allocations': {PROVIDER: _RESOURCES | {'generation': GENERATION}},
    'project_id': _optional(TEXT),
    'user_id': _optional(TEXT),
    'consumer_generation': _optional(GENERATION),
    'consumer_type': _optional(CONSUMER_TYPE),
}
_CANDIDATES = {
    'allocation_requests': [
        {'allocations': {PROVIDER: _RESOURCES}, 'mappings': {SUFFIX: [PROVIDER]}}
    ],
    'provider_summaries': {
        PROVIDER: {
            'resources': {RESOURCE_CLASS: {'capacity': CAPACITY, 'used': COUNT}},
            'traits': [TRAIT],
            'parent_provider_uuid': PROVIDER_OR_NULL,
            'root_provider_uuid': PROVIDER,
        }
    },
}
_VERSIONS = {
    'versions': [
        {
            'id': TEXT,
            'max_version': VERSION,
            'min_version': VERSION,
            'status': 'CURRENT',
            'links': _links('self'),
        }
    ]
}

_QUESTIONS = {
    'questions': [
        {'name': TEXT, 'enabled': FLAG, 'option': TEXT, 'links': _links('self')},
    ],
    'failures': COUNT,
    'dropped': COUNT,
    'unrecorded': COUNT,
}
_CONDITION = {
    'words': TEXT,
    'reason': TEXT,
    'names': [TEXT],
    'asked': NUMBER_OR_NULL,
    'largest': NUMBER_OR_NULL,
    'most_free': NUMBER_OR_NULL,
}
_OF_GROUP = _CONDITION | {'suffix': TEXT_OR_NULL}
_STEP = {
    'condition': _CONDITION,
    'trees_before': COUNT,
    'trees_after': COUNT,
    'only': NUMBER_OR_NULL,
    'providers_before': NUMBER_OR_NULL,
    'providers_after': NUMBER_OR_NULL,
}
_NAMED_PROVIDER = {'uuid': PROVIDER, 'name': TEXT_OR_NULL}
_REPORT = {
    'root': _NAMED_PROVIDER,
    'verdict': VERDICT,
    'failed': [_OF_GROUP],
    'missing': [
        {
            'provider': _NAMED_PROVIDER,
            'suffix': TEXT,
            'resource_class': RESOURCE_CLASS,
            'free': CAPACITY,
            'capacity': CAPACITY,
            'reason': TEXT,
        }
        | dict.fromkeys(
            ('asked', 'used', 'total', 'reserved', 'min_unit', 'max_unit', 'step_size'), COUNT
        )
    ],
}
_EXPLANATION = {
    'verdict': VERDICT,
    'summary': TEXT,
    'trees_fitting': COUNT,
    'examined': COUNT,
    'of': COUNT,
    'groups': [
        {
            'suffix': TEXT,
            'resources': {RESOURCE_CLASS: COUNT},
            'required': [[TEXT]],
            'forbidden': [TEXT],
            'member_of': [[TEXT]],
            'forbidden_aggregates': [TEXT],
            'in_tree': TEXT_OR_NULL,
            'funnel': [_STEP],
        }
    ],
    'combination': [_STEP],
    'nearest': [_REPORT],
    'relaxations': [{'conditions': [_OF_GROUP], 'trees': COUNT, 'largest': NUMBER_OR_NULL}],
    'pairs': {'examined': COUNT, 'of': COUNT},
    'provider': Value({'anyOf': [described(_REPORT), {'type': 'null'}]}),
}
_COUNT_OF_CONSUMERS = {'at_least': COUNT, 'at_most': COUNT}
_CAPACITY = {
    'now': _COUNT_OF_CONSUMERS,
    'if_empty': _COUNT_OF_CONSUMERS,
    'exact': FLAG,
    'fragmentation': [
        {
            'resource_class': RESOURCE_CLASS,
            'capacity': CAPACITY,
            'used': COUNT,
            'free': CAPACITY,
            'usable': COUNT,
        }
    ],
}
_ROW_OF_TREE = {
    'root': _NAMED_PROVIDER,
    'now': _COUNT_OF_CONSUMERS,
    'if_empty': _COUNT_OF_CONSUMERS,
}
_ROWS_OF_TREES = Value({'anyOf': [described([_ROW_OF_TREE]), {'type': 'null'}]})
_UNMET_DEMAND = {
    'unmet_demand': [
        {
            'query': TEXT,
            'names_tree': FLAG,
            'microversion': VERSION,
            'verdict': VERDICT_OF_NOTHING,
            'reason': TEXT,
            'first_at': TIME,
            'last_at': TIME,
            'times': COUNT,
            'request_ids': [TEXT],
            'request_id': _optional(TEXT),
        }
    ],
    'sums': Value(described(dict.fromkeys(insight_views.VERDICTS, COUNT)), optional=True),
    'links': _links('next'),
}

_CLOUD_PROVIDER = {
    'uuid': PROVIDER,
    'name': TEXT,
    'generation': GENERATION,
    'parent_provider_uuid': PROVIDER_OR_NULL,
    'root_provider_uuid': PROVIDER,
    'inventories': _included({RESOURCE_CLASS: _INVENTORY}),
    'usages': _included({RESOURCE_CLASS: COUNT}),
    'traits': _included([TRAIT]),
    'aggregates': _included([AGGREGATE]),
    'allocations': _included({CONSUMER: _RESOURCES | {'consumer_generation': GENERATION}}),
}
_CLOUD_PROVIDERS = {
    'providers': [_CLOUD_PROVIDER],
    'token': _optional(TEXT),
    'links': _links('next'),
}
_CHANGES = {
    'providers': [_CLOUD_PROVIDER],
    'deleted': [PROVIDER],
    'complete': FLAG,
    'token': TEXT_OR_NULL,
    'links': _links('next'),
}
_TIME_OR_NULL = Value({'type': ['string', 'null'], 'format': 'date-time'})
_CONSUMERS = {
    'consumers': [
        {
            'uuid': CONSUMER,
            'created_at': _TIME_OR_NULL,
            'updated_at': _TIME_OR_NULL,
            'allocations': {PROVIDER: _RESOURCES | {'generation': GENERATION}},
            'project_id': TEXT,
            'user_id': TEXT,
            'consumer_generation': GENERATION,
            'consumer_type': CONSUMER_TYPE,
        }
    ],
    'links': _links('next'),
}
_USAGE_SUMS = {
    'usages': [
        {
            **dict.fromkeys(
                ('project_id', 'user_id', 'consumer_type', 'aggregate'), _optional(TEXT)
            ),
            'consumer_count': COUNT,
            'resources': {RESOURCE_CLASS: COUNT},
        }
    ],
    'links': _links('next'),
}

_STATE = {
    'name': _optional(TEXT),
    'parent_provider_uuid': Value(PROVIDER_OR_NULL.schema, optional=True),
    'root_provider_uuid': _optional(PROVIDER),
    'inventories': _included({RESOURCE_CLASS: _INVENTORY}),
    'traits': _included([TRAIT]),
    'aggregates': _included([AGGREGATE]),
    # Of a provider by consumer, of a consumer by provider.
    'allocations': _included({CONSUMER: _RESOURCES}),
    'consumer_type': _optional(CONSUMER_TYPE),
    'former_name': _optional(TEXT),
    'deleted': Value(FLAG.schema, optional=True),
}
_HISTORY = {
    'history': [
        {
            'at': TIME,
            'request_id': TEXT,
            'global_request_id': TEXT_OR_NULL,
            'caller': dict.fromkeys(('user_id', 'user_name', 'project_id'), TEXT_OR_NULL),
            'action': TEXT,
            'kind': Value({'type': 'string', 'enum': [str(kind) for kind in Kind]}),
            'uuid': TEXT_OR_NULL,
            'project_id': TEXT_OR_NULL,
            'user_id': TEXT_OR_NULL,
            'generation': NUMBER_OR_NULL,
            'state': Value({'anyOf': [described(_STATE), {'type': 'null'}]}),
        }
    ],
    'links': _links('next'),
}

LOCATION = '/'

# A handler with several replies distinguishes them by status.
REPLIES: Mapping[Handler, tuple[Reply, ...]] = {
    root.show: (Reply(_VERSIONS),),
    resource_providers.list_providers: (Reply({'resource_providers': [_PROVIDER]}),),
    resource_providers.create: (Reply(_PROVIDER, location=LOCATION),),
    resource_providers.show: (Reply(_PROVIDER),),
    resource_providers.update: (Reply(_PROVIDER),),
    resource_providers.delete: (NO_CONTENT,),
    inventories.list_inventories: (_INVENTORIES,),
    inventories.create: (Reply(_INVENTORY | _WITH_GENERATION, status=CREATED, location=LOCATION),),
    inventories.set_inventories: (_INVENTORIES,),
    inventories.show: (Reply(_INVENTORY | _WITH_GENERATION),),
    inventories.update: (Reply(_INVENTORY | _WITH_GENERATION),),
    inventories.delete: (NO_CONTENT,),
    inventories.clear: (NO_CONTENT,),
    usages.show_provider: (Reply(_WITH_GENERATION | {'usages': {RESOURCE_CLASS: COUNT}}),),
    usages.show_total: (Reply(_USAGES),),
    aggregates.show: (Reply(_AGGREGATES),),
    aggregates.set_aggregates: (Reply(_AGGREGATES),),
    traits.list_traits: (Reply({'traits': [TRAIT]}),),
    traits.show: (Reply(status=NO_CONTENT.status, has_cache_headers=True),),
    traits.put: (
        Reply(status=CREATED, location=LOCATION, has_cache_headers=True),
        Reply(status=NO_CONTENT.status, location=LOCATION, has_cache_headers=True),
    ),
    traits.delete: (NO_CONTENT,),
    traits.show_of_provider: (Reply(_TRAITS),),
    traits.set_of_provider: (Reply(_TRAITS),),
    traits.clear_of_provider: (NO_CONTENT,),
    resource_classes.list_classes: (Reply({'resource_classes': [_CLASS]}),),
    resource_classes.create: (Reply(status=CREATED, location=LOCATION),),
    resource_classes.show: (Reply(_CLASS),),
    resource_classes.rename: (Reply(_CLASS, has_cache_headers=False),),
    resource_classes.ensure: (
        Reply(status=CREATED, location=LOCATION),
        Reply(status=NO_CONTENT.status, location=LOCATION),
    ),
    resource_classes.delete: (NO_CONTENT,),
    allocations.show: (Reply(_CONSUMER),),
    allocations.list_of_provider: (
        Reply(
            _WITH_GENERATION
            | {'allocations': {CONSUMER: _RESOURCES | {'consumer_generation': GENERATION}}}
        ),
    ),
    allocations.set_one: (NO_CONTENT,),
    allocations.set_many: (NO_CONTENT,),
    allocations.delete: (NO_CONTENT,),
    allocation_candidates.list_candidates: (Reply(_CANDIDATES),),
    reshaper.reshape: (NO_CONTENT,),
    insight.show: (Reply(_QUESTIONS),),
    insight.explain: (Reply(_EXPLANATION),),
    insight.capacity: (
        Reply(
            _CAPACITY | {'trees': _ROWS_OF_TREES, 'note': TEXT_OR_NULL, 'links': _links('next')}
        ),
    ),
    insight.capacities: (Reply({'capacities': {Name('^.{1,255}$'): _CAPACITY}}),),
    insight.list_unmet_demand: (Reply(_UNMET_DEMAND),),
    cloud.list_providers: (Reply(_CLOUD_PROVIDERS),),
    cloud.list_consumers: (Reply(_CONSUMERS),),
    cloud.list_usages: (Reply(_USAGE_SUMS),),
    cloud.list_changes: (Reply(_CHANGES),),
    change_history.list_changes: (Reply(_HISTORY),),
}
