# SPDX-License-Identifier: Apache-2.0
"""Templates of the successful replies of every handler, in the newest shape.

A template is a body with a JSON schema in the place of each value. It has the shape of a reply, so
the downgrades of the history apply to it as they do to a reply. The schema of an older version
follows from the result, and no shape is declared twice. The tests compare the templates with the
responses of the service at every microversion.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placement.handlers import (
    aggregates,
    allocation_candidates,
    allocations,
    inventories,
    reshaper,
    resource_classes,
    resource_providers,
    root,
    traits,
    usages,
)
from placement.http import views
from placement.http.conversions import CONSUMER_COUNT
from placement.http.microversion import Handler
from placement.http.reply import CREATED, NO_CONTENT, Reply
from placement.insight import handlers as insight
from placement.insight.bulk import handlers as bulk
from placement.insight.capacity import handlers as capacity
from placement.insight.changes import handlers as changes
from placement.insight.demand import handlers as demand
from placement.insight.demand.views import VERDICTS
from placement.insight.explain import handlers as explain
from placement.insight.history import handlers as history
from placement.insight.history.statements import SubjectKind
from placement.schemas import common, inventory
from placement.schemas.common import Schema, an_object, keyed_by


class Described:
    """The schema of a value; the member may be missing when it is `optional`."""

    def __init__(self, schema: Schema, optional: bool = False) -> None:
        self.schema = schema
        self.optional = optional


class Name(str):
    """The pattern of a string that a client or an operator chose.

    As the name of a member it stands for any number of members.
    """

    __slots__ = ('schema',)
    schema: Schema

    def __new__(cls, pattern: str) -> Name:
        """The pattern, with the schema that it makes."""
        name = super().__new__(cls, pattern)
        name.schema = {'type': 'string', 'pattern': pattern}
        return name


def described(template: Any) -> Schema:
    """The JSON schema of everything that has the shape of a template."""
    match template:
        case Described() | Name():
            return template.schema
        case dict():
            return _object(template)
        case list():
            return {'type': 'array', 'items': _element(template)}
        case _:
            return {'const': template}


def _object(template: dict[str, Any]) -> Schema:
    if any(isinstance(name, Name) for name in template):
        ((name, value),) = ((n, v) for n, v in template.items() if isinstance(n, Name))
        others = {n: described(v) for n, v in template.items() if not isinstance(n, Name)}
        return keyed_by(str(name), described(value)) | (
            {'properties': others, 'required': list(others)} if others else {}
        )
    properties = {name: described(value) for name, value in template.items()}
    required = [n for n, v in template.items() if not (isinstance(v, Described) and v.optional)]
    return an_object(properties, tuple(required))


def _element(template: list[Any]) -> Schema:
    """The schema of each element: one of the kinds that the template lists."""
    kinds = [described(element) for element in template]
    return kinds[0] if len(kinds) == 1 else {'anyOf': kinds}


TEXT = Described({'type': 'string'})
COUNT = Described({'type': 'integer', 'minimum': 0})
# Negative where less than the used amount is left, or less than the reserved amount.
CAPACITY = Described({'type': 'integer'})
GENERATION = Described(common.GENERATION)
PROVIDER = Name('^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')
PROVIDER_OR_NULL = Described({'type': ['string', 'null'], 'pattern': str(PROVIDER)})
# Consumers and aggregates are kept as they were spelled.
CONSUMER = Name(common.UUID_KEY_PATTERN)
AGGREGATE = Described({'type': 'string'})
RESOURCE_CLASS = Name(common.RESOURCE_CLASS_PATTERN)
TRAIT = Name('^[A-Z0-9_]+$')
CONSUMER_TYPE = Name('^([A-Z0-9_]+|all|unknown)$')
SUFFIX = Name('^[a-zA-Z0-9_-]{0,64}$')
FLAG = Described({'type': 'boolean'})
NUMBER_OR_NULL = Described({'type': ['integer', 'null']})
TEXT_OR_NULL = Described({'type': ['string', 'null']})
TIME = Described({'type': 'string', 'format': 'date-time'})
VERDICT_OF_NOTHING = Described({'type': 'string', 'enum': list(VERDICTS)})
VERDICT = Described({'type': 'string', 'enum': ['fits', *VERDICTS]})
VERSION = Described({'type': 'string', 'pattern': r'^[1-9][0-9]*\.[0-9]+$'})

_WITH_GENERATION = {'resource_provider_generation': GENERATION}


def _optional(value: Described | Name) -> Described:
    return Described(value.schema, optional=True)


def _included(template: Any) -> Described:
    """A member that is there when the request includes it."""
    return Described(described(template), optional=True)


def _links(*relations: str) -> list[dict[str, Any]]:
    return [{'rel': relation, 'href': TEXT} for relation in relations]


# fmt: off
_PROVIDER = {
    'uuid': PROVIDER, 'name': TEXT, 'generation': GENERATION,
    'links': _links('self', *views.PROVIDER_LINKS), 'parent_provider_uuid': PROVIDER_OR_NULL,
    'root_provider_uuid': PROVIDER}
_INVENTORY = {name: Described(inventory.MEMBERS[name]) for name in inventory.MEMBERS}
# An empty list of inventories has no time of modification.
_INVENTORIES = Reply(
    _WITH_GENERATION | {'inventories': {RESOURCE_CLASS: _INVENTORY}}, omit_last_modified=True)
_CLASS = {'name': RESOURCE_CLASS, 'links': _links('self')}
_AGGREGATES = {'aggregates': [AGGREGATE]} | _WITH_GENERATION
_TRAITS = {'traits': [TRAIT]} | _WITH_GENERATION
_RESOURCES = {'resources': {RESOURCE_CLASS: COUNT}}
_USAGES = {'usages': {CONSUMER_TYPE: {CONSUMER_COUNT: COUNT, RESOURCE_CLASS: COUNT}}}
# A consumer without allocations does not exist, and has no other members.
_CONSUMER = {
    'allocations': {PROVIDER: _RESOURCES | {'generation': GENERATION}},
    'project_id': _optional(TEXT), 'user_id': _optional(TEXT),
    'consumer_generation': _optional(GENERATION), 'consumer_type': _optional(CONSUMER_TYPE)}
_CANDIDATES = {
    'allocation_requests': [
        {'allocations': {PROVIDER: _RESOURCES}, 'mappings': {SUFFIX: [PROVIDER]}}],
    'provider_summaries': {
        PROVIDER: {
            'resources': {RESOURCE_CLASS: {'capacity': CAPACITY, 'used': COUNT}},
            'traits': [TRAIT], 'parent_provider_uuid': PROVIDER_OR_NULL,
            'root_provider_uuid': PROVIDER}}}
_VERSIONS = {
    'versions': [
        {
            'id': TEXT, 'max_version': VERSION, 'min_version': VERSION, 'status': 'CURRENT',
            'links': _links('self')}]}

_QUESTIONS = {
    'questions': [{'name': TEXT, 'enabled': FLAG, 'option': TEXT, 'links': _links('self')}],
    'failures': COUNT, 'dropped': COUNT, 'unrecorded': COUNT}
_CONDITION = {
    'words': TEXT, 'reason': TEXT, 'names': [TEXT], 'asked': NUMBER_OR_NULL,
    'largest': NUMBER_OR_NULL, 'most_free': NUMBER_OR_NULL}
_OF_GROUP = _CONDITION | {'suffix': TEXT_OR_NULL}
_STEP = {
    'condition': _CONDITION, 'trees_before': COUNT, 'trees_after': COUNT, 'only': NUMBER_OR_NULL,
    'providers_before': NUMBER_OR_NULL, 'providers_after': NUMBER_OR_NULL}
_NAMED_PROVIDER = {'uuid': PROVIDER, 'name': TEXT_OR_NULL}
_REPORT = {
    'root': _NAMED_PROVIDER, 'verdict': VERDICT, 'disabled': FLAG, 'failed': [_OF_GROUP],
    'subtree': Described(
        {
            'anyOf': [
                described({'provider': _NAMED_PROVIDER, 'failed': [_OF_GROUP]}),
                {'type': 'null'}]}),
    'missing': [
        {
            'provider': _NAMED_PROVIDER, 'suffix': TEXT, 'resource_class': RESOURCE_CLASS,
            'free': CAPACITY, 'capacity': CAPACITY, 'reason': TEXT} | dict.fromkeys(
            ('asked', 'used', 'total', 'reserved', 'min_unit', 'max_unit', 'step_size'), COUNT)]}
_EXPLANATION = {
    'verdict': VERDICT, 'summary': TEXT, 'trees_fitting': COUNT, 'examined': COUNT, 'of': COUNT,
    'groups': [
        {
            'suffix': TEXT, 'resources': {RESOURCE_CLASS: COUNT}, 'required': [[TEXT]],
            'forbidden': [TEXT], 'member_of': [[TEXT]], 'forbidden_aggregates': [TEXT],
            'in_tree': TEXT_OR_NULL, 'funnel': [_STEP]}], 'combination': [_STEP],
    'nearest': [_REPORT], 'disabled': {'trees': COUNT, 'roots': [_NAMED_PROVIDER]},
    'relaxations': [
        {
            'conditions': [_OF_GROUP], 'trees': COUNT, 'largest': NUMBER_OR_NULL,
            'amounts': [{'amount': COUNT, 'trees': COUNT}]}],
    'pairs': {'examined': COUNT, 'of': COUNT},
    'provider': Described({'anyOf': [described(_REPORT), {'type': 'null'}]})}
_COUNT_OF_CONSUMERS = {'at_least': COUNT, 'at_most': COUNT}
_CAPACITY = {
    'now': _COUNT_OF_CONSUMERS, 'if_empty': _COUNT_OF_CONSUMERS, 'exact': FLAG,
    'fragmentation': [
        {
            'resource_class': RESOURCE_CLASS, 'capacity': CAPACITY, 'used': COUNT,
            'free': CAPACITY, 'usable': COUNT}]}
_ROW_OF_TREE = {
    'root': _NAMED_PROVIDER, 'now': _COUNT_OF_CONSUMERS, 'if_empty': _COUNT_OF_CONSUMERS}
_ROWS_OF_TREES = Described({'anyOf': [described([_ROW_OF_TREE]), {'type': 'null'}]})
_UNMET_DEMAND = {
    'unmet_demand': [
        {
            'query': TEXT, 'names_tree': FLAG, 'microversion': VERSION,
            'verdict': VERDICT_OF_NOTHING, 'reason': TEXT, 'first_at': TIME, 'last_at': TIME,
            'times': COUNT, 'request_ids': [TEXT], 'request_id': _optional(TEXT)}],
    'sums': Described(described(dict.fromkeys(VERDICTS, COUNT)), optional=True),
    'links': _links('next')}

_CLOUD_PROVIDER = {
    'uuid': PROVIDER, 'name': TEXT, 'generation': GENERATION,
    'parent_provider_uuid': PROVIDER_OR_NULL, 'root_provider_uuid': PROVIDER,
    'inventories': _included({RESOURCE_CLASS: _INVENTORY}),
    'usages': _included({RESOURCE_CLASS: COUNT}), 'traits': _included([TRAIT]),
    'aggregates': _included([AGGREGATE]),
    'allocations': _included({CONSUMER: _RESOURCES | {'consumer_generation': GENERATION}})}
_CLOUD_PROVIDERS = {
    'providers': [_CLOUD_PROVIDER], 'token': _optional(TEXT), 'links': _links('next')}
_CHANGES = {
    'providers': [_CLOUD_PROVIDER], 'deleted': [PROVIDER], 'complete': FLAG, 'token': TEXT_OR_NULL,
    'links': _links('next')}
_TIME_OR_NULL = Described({'type': ['string', 'null'], 'format': 'date-time'})
_CONSUMERS = {
    'consumers': [
        {
            'uuid': CONSUMER, 'created_at': _TIME_OR_NULL, 'updated_at': _TIME_OR_NULL,
            'allocations': {PROVIDER: _RESOURCES | {'generation': GENERATION}}, 'project_id': TEXT,
            'user_id': TEXT, 'consumer_generation': GENERATION, 'consumer_type': CONSUMER_TYPE}],
    'links': _links('next')}
_USAGE_SUMS = {
    'usages': [
        {
            **dict.fromkeys(
                ('project_id', 'user_id', 'consumer_type', 'aggregate'), _optional(TEXT)),
            'consumer_count': COUNT, 'resources': {RESOURCE_CLASS: COUNT}}],
    'links': _links('next')}

# The allocations are of a provider by consumer, of a consumer by provider.
_STATE = {
    'name': _optional(TEXT),
    'parent_provider_uuid': Described(PROVIDER_OR_NULL.schema, optional=True),
    'root_provider_uuid': _optional(PROVIDER),
    'inventories': _included({RESOURCE_CLASS: _INVENTORY}), 'traits': _included([TRAIT]),
    'aggregates': _included([AGGREGATE]), 'allocations': _included({CONSUMER: _RESOURCES}),
    'consumer_type': _optional(CONSUMER_TYPE), 'former_name': _optional(TEXT),
    'deleted': Described(FLAG.schema, optional=True)}
_HISTORY = {
    'history': [
        {
            'at': TIME, 'request_id': TEXT, 'global_request_id': TEXT_OR_NULL,
            'caller': dict.fromkeys(('user_id', 'user_name', 'project_id'), TEXT_OR_NULL),
            'action': TEXT,
            'kind': Described({'type': 'string', 'enum': [str(kind) for kind in SubjectKind]}),
            'uuid': TEXT_OR_NULL, 'project_id': TEXT_OR_NULL, 'user_id': TEXT_OR_NULL,
            'generation': NUMBER_OR_NULL,
            'state': Described({'anyOf': [described(_STATE), {'type': 'null'}]})}],
    'links': _links('next')}

LOCATION = '/'

# A handler with several replies distinguishes them by status.
REPLIES: Mapping[Handler, tuple[Reply, ...]] = {
    root.show: (Reply(_VERSIONS),),
    resource_providers.list_providers: (Reply({'resource_providers': [_PROVIDER]}),),
    resource_providers.create: (Reply(_PROVIDER, location=LOCATION),),
    resource_providers.show: (Reply(_PROVIDER),), resource_providers.update: (Reply(_PROVIDER),),
    resource_providers.delete: (NO_CONTENT,), inventories.list_inventories: (_INVENTORIES,),
    inventories.create: (Reply(_INVENTORY | _WITH_GENERATION, status=CREATED, location=LOCATION),),
    inventories.set_inventories: (_INVENTORIES,),
    inventories.show: (Reply(_INVENTORY | _WITH_GENERATION),),
    inventories.update: (Reply(_INVENTORY | _WITH_GENERATION),), inventories.delete: (NO_CONTENT,),
    inventories.clear: (NO_CONTENT,),
    usages.show_provider: (Reply(_WITH_GENERATION | {'usages': {RESOURCE_CLASS: COUNT}}),),
    usages.show_total: (Reply(_USAGES),), aggregates.show: (Reply(_AGGREGATES),),
    aggregates.set_aggregates: (Reply(_AGGREGATES),),
    traits.list_traits: (Reply({'traits': [TRAIT]}),),
    traits.show: (Reply(status=NO_CONTENT.status, has_cache_headers=True),),
    traits.put: (
        Reply(status=CREATED, location=LOCATION, has_cache_headers=True),
        Reply(status=NO_CONTENT.status, location=LOCATION, has_cache_headers=True)),
    traits.delete: (NO_CONTENT,), traits.show_of_provider: (Reply(_TRAITS),),
    traits.set_of_provider: (Reply(_TRAITS),), traits.clear_of_provider: (NO_CONTENT,),
    resource_classes.list_classes: (Reply({'resource_classes': [_CLASS]}),),
    resource_classes.create: (Reply(status=CREATED, location=LOCATION),),
    resource_classes.show: (Reply(_CLASS),),
    resource_classes.rename: (Reply(_CLASS, has_cache_headers=False),),
    resource_classes.ensure: (
        Reply(status=CREATED, location=LOCATION),
        Reply(status=NO_CONTENT.status, location=LOCATION)),
    resource_classes.delete: (NO_CONTENT,), allocations.show: (Reply(_CONSUMER),),
    allocations.list_of_provider: (
        Reply(
            _WITH_GENERATION | {
                'allocations': {CONSUMER: _RESOURCES | {'consumer_generation': GENERATION}}}),),
    allocations.set_one: (NO_CONTENT,), allocations.set_many: (NO_CONTENT,),
    allocations.delete: (NO_CONTENT,),
    allocation_candidates.list_candidates: (Reply(_CANDIDATES),), reshaper.reshape: (NO_CONTENT,),
    insight.show: (Reply(_QUESTIONS),), explain.explain: (Reply(_EXPLANATION),),
    capacity.capacity: (
        Reply(
            _CAPACITY | {
                'trees': _ROWS_OF_TREES, 'note': TEXT_OR_NULL, 'links': _links('next')}),),
    capacity.capacities: (Reply({'capacities': {Name('^.{1,255}$'): _CAPACITY}}),),
    demand.list_unmet_demand: (Reply(_UNMET_DEMAND),),
    bulk.list_providers: (Reply(_CLOUD_PROVIDERS),), bulk.list_consumers: (Reply(_CONSUMERS),),
    bulk.list_usages: (Reply(_USAGE_SUMS),), changes.list_changes: (Reply(_CHANGES),),
    history.list_changes: (Reply(_HISTORY),)}
# fmt: on
