# SPDX-License-Identifier: Apache-2.0
"""Every microversion of the API, declared once as its changes.

No other module contains version numbers. `fold` derives the `Api` of each version. The summaries
are the text of the public version history (specification: microversions).
"""

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
from placement.http import conversions
from placement.http.microversion import Api, Microversion, Rule, fold
from placement.schemas import aggregate as aggregate_schemas
from placement.schemas import allocation as allocation_schemas
from placement.schemas import allocation_candidate as candidate_schemas
from placement.schemas import inventory as inventory_schemas
from placement.schemas import resource_class as resource_class_schemas
from placement.schemas import resource_provider as provider_schemas
from placement.schemas import trait as trait_schemas
from placement.schemas import usage as usage_schemas

# Actions that show a provider by itself; the list shows many.
_ONE_PROVIDER = (
    'resource_providers.show',
    'resource_providers.create',
    'resource_providers.update',
)


def _for_providers(downgrade: conversions.Downgrade) -> dict[str, conversions.Downgrade]:
    """A downgrade of a provider, for all actions that show providers."""
    of_many = conversions.within('resource_providers', downgrade)
    return dict.fromkeys(_ONE_PROVIDER, downgrade) | {'resource_providers.list': of_many}


def _for_summaries(*members: str) -> conversions.Downgrade:
    """A downgrade that drops members of the provider summaries of candidates."""
    return conversions.within('provider_summaries', conversions.without(*members))


def _for_claims(upgrade: conversions.Upgrade) -> dict[str, conversions.Upgrade]:
    """An upgrade of a consumer's allocations, for all actions that write allocations."""
    return {
        'allocations.set': upgrade,
        'allocations.set_many': conversions.for_each_consumer(upgrade),
        'reshaper.reshape': conversions.for_each_reshaped_consumer(upgrade),
    }


# fmt: off
HISTORY = (
    Microversion('1.0', 'Resource providers, their inventories and usages, and allocations.',
        serves={
            'root.show': root.show,
            'resource_providers.list': resource_providers.list_providers,
            'resource_providers.create': resource_providers.create,
            'resource_providers.show': resource_providers.show,
            'resource_providers.update': resource_providers.update,
            'resource_providers.delete': resource_providers.delete,
            'inventories.list': inventories.list_inventories,
            'inventories.create': inventories.create,
            'inventories.set': inventories.set_inventories,
            'inventories.show': inventories.show,
            'inventories.update': inventories.update,
            'inventories.delete': inventories.delete,
            'provider_usages.show': usages.show_provider,
            'provider_allocations.list': allocations.list_of_provider,
            'allocations.show': allocations.show,
            'allocations.set': allocations.set_one,
            'allocations.delete': allocations.delete},
        accepts={
            'resource_providers.create': provider_schemas.CREATE,
            'resource_providers.update': provider_schemas.UPDATE,
            'inventories.create': inventory_schemas.CREATE,
            'inventories.set': inventory_schemas.SET,
            'inventories.update': inventory_schemas.UPDATE,
            'allocations.set': allocation_schemas.SET_AS_LIST},
        queries={'resource_providers.list': provider_schemas.LIST}),
    Microversion('1.1', 'Providers can be members of aggregates.',
        serves={'aggregates.show': aggregates.show, 'aggregates.set': aggregates.set_aggregates},
        accepts={'aggregates.set': aggregate_schemas.SET},
        downgrades=_for_providers(conversions.without_link('aggregates'))),
    Microversion('1.2', 'Resource classes can be listed, made, renamed and deleted.',
        serves={
            'resource_classes.list': resource_classes.list_classes,
            'resource_classes.create': resource_classes.create,
            'resource_classes.show': resource_classes.show,
            'resource_classes.put': resource_classes.rename,
            'resource_classes.delete': resource_classes.delete},
        accepts={
            'resource_classes.create': resource_class_schemas.NAMED,
            'resource_classes.put': resource_class_schemas.NAMED}),
    Microversion('1.3', 'Providers can be listed by aggregate with member_of.',
        queries={'resource_providers.list': provider_schemas.LIST_IN_AGGREGATES}),
    Microversion('1.4', 'Providers can be listed by the resources that they have room for.',
        queries={'resource_providers.list': provider_schemas.LIST_WITH_RESOURCES}),
    Microversion('1.5', 'All inventories of a provider can be deleted at once.',
        serves={'inventories.clear': inventories.clear}),
    Microversion('1.6', 'Traits, and the traits of providers.',
        serves={
            'traits.list': traits.list_traits,
            'traits.show': traits.show,
            'traits.put': traits.put,
            'traits.delete': traits.delete,
            'provider_traits.show': traits.show_of_provider,
            'provider_traits.set': traits.set_of_provider,
            'provider_traits.clear': traits.clear_of_provider},
        accepts={'provider_traits.set': trait_schemas.SET},
        queries={'traits.list': trait_schemas.LIST},
        downgrades=_for_providers(conversions.without_link('traits'))),
    Microversion('1.7',
        'PUT /resource_classes/{name} creates or confirms; it takes no body and renames nothing.',
        serves={'resource_classes.put': resource_classes.ensure},
        accepts={'resource_classes.put': None}),
    Microversion('1.8', 'Allocations name the project and the user that they are for.',
        accepts={'allocations.set': allocation_schemas.SET_AS_LIST_WITH_OWNER},
        upgrades={'allocations.set': conversions.unknown_before('project_id', 'user_id')}),
    Microversion('1.9', 'The usages of a project, or of one of its users.',
        serves={'usages.show': usages.show_total},
        queries={'usages.show': usage_schemas.SHOW}),
    Microversion('1.10', 'Allocation candidates: where a set of resources could be taken from.',
        serves={'allocation_candidates.list': allocation_candidates.list_candidates},
        queries={'allocation_candidates.list': candidate_schemas.LIST}),
    Microversion('1.11', 'Providers link to their allocations.',
        downgrades=_for_providers(conversions.without_link('allocations'))),
    Microversion('1.12', 'Allocations are keyed by provider, and show project and user.',
        accepts={'allocations.set': allocation_schemas.SET_BY_PROVIDER},
        upgrades={'allocations.set': conversions.key_by_provider},
        downgrades={
            'allocations.show': conversions.without('project_id', 'user_id'),
            'allocation_candidates.list': conversions.changing_body(
                conversions.candidates_as_list)}),
    Microversion('1.13',
        'POST /allocations writes the allocations of several consumers, all or nothing.',
        serves={'allocations.set_many': allocations.set_many},
        accepts={'allocations.set_many': allocation_schemas.SET_MANY}),
    Microversion('1.14',
        'Providers form trees: they have a parent and a root, and can be listed by tree.',
        accepts={
            'resource_providers.create': provider_schemas.CREATE_NESTED,
            'resource_providers.update': provider_schemas.UPDATE_NESTED},
        queries={'resource_providers.list': provider_schemas.LIST_IN_TREE},
        downgrades=_for_providers(
            conversions.without('parent_provider_uuid', 'root_provider_uuid'))),
    Microversion('1.15', 'Answers carry last-modified and cache-control: no-cache.',
        enables={Rule.CACHE_HEADERS}),
    Microversion('1.16', 'The number of allocation candidates can be limited.',
        queries={'allocation_candidates.list': candidate_schemas.LIST_LIMITED}),
    Microversion('1.17',
        'Allocation candidates can be asked for by required traits, and show traits.',
        queries={'allocation_candidates.list': candidate_schemas.LIST_WITH_TRAITS},
        downgrades={'allocation_candidates.list': _for_summaries('traits')}),
    Microversion('1.18', 'Providers can be listed by required traits.',
        queries={'resource_providers.list': provider_schemas.LIST_WITH_TRAITS}),
    Microversion('1.19',
        'Aggregates are written with the generation of the provider, which they increment.',
        accepts={'aggregates.set': aggregate_schemas.SET_WITH_GENERATION},
        upgrades={'aggregates.set': conversions.name_aggregates},
        downgrades={
            'aggregates.show': conversions.without('resource_provider_generation'),
            'aggregates.set': conversions.without('resource_provider_generation')}),
    Microversion('1.20', 'POST /resource_providers answers with the provider.',
        downgrades={'resource_providers.create': conversions.created_without_body}),
    Microversion('1.21', 'Allocation candidates can be asked for by aggregate with member_of.',
        queries={'allocation_candidates.list': candidate_schemas.LIST_IN_AGGREGATES}),
    Microversion('1.22', 'A trait can be forbidden with an exclamation mark.',
        enables={Rule.FORBIDDEN_TRAITS}),
    Microversion('1.23', 'Errors carry a code.',
        enables={Rule.ERROR_CODES}),
    Microversion('1.24', 'member_of can be given more than once; all of them have to hold.',
        enables={Rule.REPEATED_MEMBER_OF}),
    Microversion('1.25', 'Allocation candidates can be asked for in numbered groups.',
        queries={'allocation_candidates.list': candidate_schemas.LIST_IN_GROUPS}),
    Microversion('1.26', 'An inventory may be reserved in full.',
        enables={Rule.FULLY_RESERVED_INVENTORY}),
    Microversion('1.27', 'Summaries of candidates list every resource class that a provider has.',
        enables={Rule.SUMMARIES_OF_ALL_CLASSES}),
    Microversion('1.28',
        'Consumers have a generation, which writes of allocations quote and reads show.',
        accepts={
            'allocations.set': allocation_schemas.SET_WITH_GENERATION,
            'allocations.set_many': allocation_schemas.SET_MANY_WITH_GENERATION},
        upgrades=_for_claims(conversions.unknown_before('consumer_generation')),
        downgrades={
            'allocations.show': conversions.without('consumer_generation'),
            'provider_allocations.list': conversions.within(
                'allocations', conversions.without('consumer_generation'))}),
    Microversion('1.29', 'Allocation candidates may combine several providers of one tree.',
        enables={Rule.SEVERAL_PROVIDERS_OF_A_TREE},
        downgrades={
            'allocation_candidates.list': _for_summaries(
                'parent_provider_uuid', 'root_provider_uuid')}),
    Microversion('1.30', 'POST /reshaper moves inventory that is in use.',
        serves={'reshaper.reshape': reshaper.reshape},
        accepts={'reshaper.reshape': allocation_schemas.RESHAPE}),
    Microversion('1.31', 'Allocation candidates can be asked for in one tree.',
        queries={'allocation_candidates.list': candidate_schemas.LIST_IN_TREE}),
    Microversion('1.32', 'An aggregate can be forbidden with an exclamation mark.',
        enables={Rule.FORBIDDEN_AGGREGATES}),
    Microversion('1.33', 'The suffix of a request group may be any word.',
        queries={'allocation_candidates.list': candidate_schemas.LIST_WITH_SUFFIXES}),
    Microversion('1.34',
        'Candidates map request groups to providers; writes of allocations take the mappings.',
        accepts={
            'allocations.set': allocation_schemas.SET_WITH_MAPPINGS,
            'allocations.set_many': allocation_schemas.SET_MANY_WITH_MAPPINGS,
            'reshaper.reshape': allocation_schemas.RESHAPE_WITH_MAPPINGS},
        downgrades={
            'allocation_candidates.list': conversions.within(
                'allocation_requests', conversions.without('mappings'))}),
    Microversion('1.35', 'Allocation candidates can ask for traits of the root.',
        queries={'allocation_candidates.list': candidate_schemas.LIST_BY_ROOT}),
    Microversion('1.36', 'Request groups can be held together in one subtree.',
        queries={'allocation_candidates.list': candidate_schemas.LIST_IN_SUBTREE},
        enables={Rule.GROUPS_WITHOUT_RESOURCES}),
    Microversion('1.37', 'The parent of a provider can be changed and removed.',
        enables={Rule.REPARENTING}),
    Microversion('1.38', 'Consumers have a type, by which usages are told apart.',
        accepts={
            'allocations.set': allocation_schemas.SET_WITH_TYPE,
            'allocations.set_many': allocation_schemas.SET_MANY_WITH_TYPE,
            'reshaper.reshape': allocation_schemas.RESHAPE_WITH_TYPE},
        queries={'usages.show': usage_schemas.SHOW_BY_TYPE},
        upgrades=_for_claims(conversions.unknown_before('consumer_type')),
        downgrades={
            'allocations.show': conversions.without('consumer_type'),
            'usages.show': conversions.changing_body(conversions.usages_of_all_types)}),
    Microversion('1.39',
        'required may ask for any of several traits, and be given more than once.',
        enables={Rule.ANY_TRAITS}),
)
# fmt: on

OLDEST = HISTORY[0].version
NEWEST = HISTORY[-1].version

APIS = fold(HISTORY)


def newest() -> Api:
    """Return the API at the newest version."""
    return next(reversed(APIS.values()))
