# SPDX-License-Identifier: Apache-2.0
"""Who may see and change the inventory of a resource provider."""

from placement.policies import base

LIST = 'placement:resource_providers:inventories:list'
CREATE = 'placement:resource_providers:inventories:create'
SHOW = 'placement:resource_providers:inventories:show'
UPDATE = 'placement:resource_providers:inventories:update'
DELETE = 'placement:resource_providers:inventories:delete'

_ALL = '/resource_providers/{uuid}/inventories'
_ONE = '/resource_providers/{uuid}/inventories/{resource_class}'

RULES = [
    base.route_rule(LIST, 'List the inventory of a resource provider.', f'GET {_ALL}'),
    base.route_rule(CREATE, 'Add one class to the inventory of a provider.', f'POST {_ALL}'),
    base.route_rule(SHOW, 'Show one class of the inventory of a provider.', f'GET {_ONE}'),
    base.route_rule(
        UPDATE, 'Replace all or one class of the inventory.', f'PUT {_ALL}', f'PUT {_ONE}'
    ),
    base.route_rule(
        DELETE, 'Remove all or one class of the inventory.', f'DELETE {_ALL}', f'DELETE {_ONE}'
    ),
]
