# SPDX-License-Identifier: Apache-2.0
"""Who may see and change allocations."""

from placement.policies import base

MANAGE = 'placement:allocations:manage'
LIST = 'placement:allocations:list'
UPDATE = 'placement:allocations:update'
DELETE = 'placement:allocations:delete'
LIST_OF_PROVIDER = 'placement:resource_providers:allocations:list'

_CONSUMER = '/allocations/{consumer_uuid}'

RULES = [
    base.route_rule(MANAGE, 'Write the allocations of several consumers.', 'POST /allocations'),
    base.route_rule(LIST, 'List the allocations of a consumer.', f'GET {_CONSUMER}'),
    base.route_rule(UPDATE, 'Replace the allocations of a consumer.', f'PUT {_CONSUMER}'),
    base.route_rule(DELETE, 'Delete the allocations of a consumer.', f'DELETE {_CONSUMER}'),
    base.route_rule(
        LIST_OF_PROVIDER,
        'List the allocations of a resource provider.',
        'GET /resource_providers/{uuid}/allocations',
    ),
]
