# SPDX-License-Identifier: Apache-2.0
"""Every policy rule of the service: one declaration each (specification: policy)."""

from oslo_policy import policy

ADMIN = 'admin_api'
SERVICE = 'service_api'
ADMIN_OR_SERVICE = 'admin_or_service_api'
PROJECT_READER = 'project_reader_api'
ADMIN_OR_PROJECT_READER_OR_SERVICE = 'admin_or_project_reader_or_service_api'

_REASON = """
Placement offers roles of its own for services and for readers of one project. Administrators no
longer count as services.
"""


def _base_rule(
    name: str, check: str, description: str, scope_types: list[str] | None
) -> policy.RuleDefault:
    """A rule that others refer to, and whose predecessor let in administrators.

    The predecessor carries the name of the rule itself: an operator who overrides ``admin_api``
    does not change the others by it.
    """
    predecessor = policy.DeprecatedRule(
        name, 'role:admin', deprecated_reason=_REASON, deprecated_since='Wallaby'
    )
    return policy.RuleDefault(
        name, check, description, deprecated_rule=predecessor, scope_types=scope_types
    )


def _rule(
    name: str, description: str, *operations: str, check: str = f'rule:{ADMIN_OR_SERVICE}'
) -> policy.DocumentedRuleDefault:
    """A rule that guards routes, each given as ``'METHOD /path'``."""
    described: list[policy.Operation] = [
        {'method': method, 'path': path} for method, path in map(str.split, operations)
    ]
    return policy.DocumentedRuleDefault(
        f'placement:{name}', check, description, described, scope_types=['project']
    )


_PROVIDER = '/resource_providers/{uuid}'

# fmt: off
RULES: list[policy.RuleDefault] = [
    policy.RuleDefault(ADMIN, 'role:admin', 'Administrators of the cloud.',
        scope_types=['project']),
    _base_rule(SERVICE, 'role:service', 'Other services of the cloud.', ['project']),
    _base_rule(ADMIN_OR_SERVICE, 'role:admin or role:service',
        'Administrators and other services of the cloud.', ['project']),
    _base_rule(PROJECT_READER, 'role:reader and project_id:%(project_id)s',
        'Readers, for their own project.', None),
    _base_rule(ADMIN_OR_PROJECT_READER_OR_SERVICE,
        f'role:admin or rule:{PROJECT_READER} or role:service',
        'Administrators, other services, and readers for their own project.', ['project']),
    # Resource providers
    _rule('resource_providers:list', 'List resource providers.', 'GET /resource_providers'),
    _rule('resource_providers:create', 'Create a resource provider.', 'POST /resource_providers'),
    _rule('resource_providers:show', 'Show a resource provider.', f'GET {_PROVIDER}'),
    _rule('resource_providers:update', 'Update a resource provider.', f'PUT {_PROVIDER}'),
    _rule('resource_providers:delete', 'Delete a resource provider.', f'DELETE {_PROVIDER}'),
    # Resource classes
    _rule('resource_classes:list', 'List resource classes.', 'GET /resource_classes'),
    _rule('resource_classes:create', 'Create a resource class.', 'POST /resource_classes'),
    _rule('resource_classes:show', 'Show a resource class.', 'GET /resource_classes/{name}'),
    _rule('resource_classes:update', 'Create or rename a resource class.',
        'PUT /resource_classes/{name}'),
    _rule('resource_classes:delete', 'Delete a resource class.',
        'DELETE /resource_classes/{name}'),
    # Inventories
    _rule('resource_providers:inventories:list', 'List the inventory of a resource provider.',
        f'GET {_PROVIDER}/inventories'),
    _rule('resource_providers:inventories:create', 'Add one class to the inventory of a provider.',
        f'POST {_PROVIDER}/inventories'),
    _rule('resource_providers:inventories:show', 'Show one class of the inventory of a provider.',
        f'GET {_PROVIDER}/inventories/{{resource_class}}'),
    _rule('resource_providers:inventories:update', 'Replace all or one class of the inventory.',
        f'PUT {_PROVIDER}/inventories', f'PUT {_PROVIDER}/inventories/{{resource_class}}'),
    _rule('resource_providers:inventories:delete', 'Remove all or one class of the inventory.',
        f'DELETE {_PROVIDER}/inventories', f'DELETE {_PROVIDER}/inventories/{{resource_class}}'),
    # Aggregates and usages
    _rule('resource_providers:aggregates:list', 'List the aggregates of a resource provider.',
        f'GET {_PROVIDER}/aggregates'),
    _rule('resource_providers:aggregates:update', 'Replace the aggregates of a resource provider.',
        f'PUT {_PROVIDER}/aggregates'),
    _rule('resource_providers:usages', 'Show the usage of a resource provider.',
        f'GET {_PROVIDER}/usages'),
    _rule('usages',
        'Show the usage of a project, or of one user of it. Readers see their own project.',
        'GET /usages', check=f'rule:{ADMIN_OR_PROJECT_READER_OR_SERVICE}'),
    # Traits
    _rule('traits:list', 'List traits.', 'GET /traits'),
    _rule('traits:show', 'Tell whether a trait exists.', 'GET /traits/{name}'),
    _rule('traits:update', 'Create a trait.', 'PUT /traits/{name}'),
    _rule('traits:delete', 'Delete a trait.', 'DELETE /traits/{name}'),
    _rule('resource_providers:traits:list', 'List the traits of a provider.',
        f'GET {_PROVIDER}/traits'),
    _rule('resource_providers:traits:update', 'Replace the traits of a provider.',
        f'PUT {_PROVIDER}/traits'),
    _rule('resource_providers:traits:delete', 'Remove every trait of a provider.',
        f'DELETE {_PROVIDER}/traits'),
    # Allocations
    _rule('allocations:manage', 'Write the allocations of several consumers.',
        'POST /allocations'),
    _rule('allocations:list', 'List the allocations of a consumer.',
        'GET /allocations/{consumer_uuid}'),
    _rule('allocations:update', 'Replace the allocations of a consumer.',
        'PUT /allocations/{consumer_uuid}'),
    _rule('allocations:delete', 'Delete the allocations of a consumer.',
        'DELETE /allocations/{consumer_uuid}'),
    _rule('resource_providers:allocations:list', 'List the allocations of a resource provider.',
        f'GET {_PROVIDER}/allocations'),
    _rule('allocation_candidates:list', 'List allocation candidates.',
        'GET /allocation_candidates'),
    _rule('reshaper:reshape',
        'Move inventory and allocations between resource providers, in one step.',
        'POST /reshaper', check=f'rule:{SERVICE}'),
    # Questions below /insight
    _rule('insight:show', 'Show which questions are answered.', 'GET /insight'),
    _rule('insight:allocation_candidates', 'Explain why a request finds no allocation candidates.',
        'GET /insight/allocation_candidates', 'POST /insight/allocation_candidates'),
    _rule('insight:capacity', 'Show how often requests would fit.',
        'GET /insight/capacity', 'POST /insight/capacity'),
    _rule('insight:survival', 'Show which failures the cloud can take.', 'POST /insight/survival'),
    _rule('insight:drain', 'Plan the moves that empty hosts.', 'POST /insight/drain'),
    _rule('insight:moves', 'Tell if moves are possible.', 'POST /insight/moves'),
    _rule('insight:unmet_demand', 'List what was searched for in vain.',
        'GET /insight/unmet_demand'),
    _rule('insight:providers', 'List resource providers with everything that is known of them.',
        'GET /insight/providers'),
    _rule('insight:consumers', 'List consumers with what they hold.', 'GET /insight/consumers'),
    _rule('insight:usages',
        'List what is used by each project, user or type, or in each aggregate.',
        'GET /insight/usages'),
    _rule('insight:changes', 'List resource providers that have changed since they were read.',
        'GET /insight/changes'),
    _rule('insight:names', 'Show the names that the operator gives to aggregates and requests.',
        'GET /insight/names'),
    _rule('insight:history', 'List who changed what, with the users and projects of consumers.',
        'GET /insight/history', check=f'rule:{ADMIN}'),
]
# fmt: on

#: The rule that guards a route, by method and path.
BY_ROUTE = {
    (operation['method'], operation['path']): rule
    for rule in RULES
    if isinstance(rule, policy.DocumentedRuleDefault)
    for operation in rule.operations
}
