# SPDX-License-Identifier: Apache-2.0
"""Every policy rule of the core: one declaration each (specification: policy)."""

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
    """A rule that others refer to, and whose deprecated predecessor allowed administrators.

    The predecessor has the name of the rule itself, so that an override of ``admin_api`` does not
    change the other rules.
    """
    predecessor = policy.DeprecatedRule(
        name, 'role:admin', deprecated_reason=_REASON, deprecated_since='Wallaby'
    )
    return policy.RuleDefault(
        name, check, description, deprecated_rule=predecessor, scope_types=scope_types
    )


def rule(
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
    rule('resource_providers:list', 'List resource providers.', 'GET /resource_providers'),
    rule('resource_providers:create', 'Create a resource provider.', 'POST /resource_providers'),
    rule('resource_providers:show', 'Show a resource provider.', f'GET {_PROVIDER}'),
    rule('resource_providers:update', 'Update a resource provider.', f'PUT {_PROVIDER}'),
    rule('resource_providers:delete', 'Delete a resource provider.', f'DELETE {_PROVIDER}'),
    # Resource classes
    rule('resource_classes:list', 'List resource classes.', 'GET /resource_classes'),
    rule('resource_classes:create', 'Create a resource class.', 'POST /resource_classes'),
    rule('resource_classes:show', 'Show a resource class.', 'GET /resource_classes/{name}'),
    rule('resource_classes:update', 'Create or rename a resource class.',
        'PUT /resource_classes/{name}'),
    rule('resource_classes:delete', 'Delete a resource class.',
        'DELETE /resource_classes/{name}'),
    # Inventories
    rule('resource_providers:inventories:list', 'List the inventory of a resource provider.',
        f'GET {_PROVIDER}/inventories'),
    rule('resource_providers:inventories:create', 'Add one class to the inventory of a provider.',
        f'POST {_PROVIDER}/inventories'),
    rule('resource_providers:inventories:show', 'Show one class of the inventory of a provider.',
        f'GET {_PROVIDER}/inventories/{{resource_class}}'),
    rule('resource_providers:inventories:update', 'Replace all or one class of the inventory.',
        f'PUT {_PROVIDER}/inventories', f'PUT {_PROVIDER}/inventories/{{resource_class}}'),
    rule('resource_providers:inventories:delete', 'Remove all or one class of the inventory.',
        f'DELETE {_PROVIDER}/inventories', f'DELETE {_PROVIDER}/inventories/{{resource_class}}'),
    # Aggregates and usages
    rule('resource_providers:aggregates:list', 'List the aggregates of a resource provider.',
        f'GET {_PROVIDER}/aggregates'),
    rule('resource_providers:aggregates:update', 'Replace the aggregates of a resource provider.',
        f'PUT {_PROVIDER}/aggregates'),
    rule('resource_providers:usages', 'Show the usage of a resource provider.',
        f'GET {_PROVIDER}/usages'),
    rule('usages',
        'Show the usage of a project, or of one user of it. Readers see their own project.',
        'GET /usages', check=f'rule:{ADMIN_OR_PROJECT_READER_OR_SERVICE}'),
    # Traits
    rule('traits:list', 'List traits.', 'GET /traits'),
    rule('traits:show', 'Tell whether a trait exists.', 'GET /traits/{name}'),
    rule('traits:update', 'Create a trait.', 'PUT /traits/{name}'),
    rule('traits:delete', 'Delete a trait.', 'DELETE /traits/{name}'),
    rule('resource_providers:traits:list', 'List the traits of a provider.',
        f'GET {_PROVIDER}/traits'),
    rule('resource_providers:traits:update', 'Replace the traits of a provider.',
        f'PUT {_PROVIDER}/traits'),
    rule('resource_providers:traits:delete', 'Remove every trait of a provider.',
        f'DELETE {_PROVIDER}/traits'),
    # Allocations
    rule('allocations:manage', 'Write the allocations of several consumers.',
        'POST /allocations'),
    rule('allocations:list', 'List the allocations of a consumer.',
        'GET /allocations/{consumer_uuid}'),
    rule('allocations:update', 'Replace the allocations of a consumer.',
        'PUT /allocations/{consumer_uuid}'),
    rule('allocations:delete', 'Delete the allocations of a consumer.',
        'DELETE /allocations/{consumer_uuid}'),
    rule('resource_providers:allocations:list', 'List the allocations of a resource provider.',
        f'GET {_PROVIDER}/allocations'),
    rule('allocation_candidates:list', 'List allocation candidates.',
        'GET /allocation_candidates'),
    rule('reshaper:reshape',
        'Move inventory and allocations between resource providers, in one step.',
        'POST /reshaper', check=f'rule:{SERVICE}'),
]
# fmt: on
