# SPDX-License-Identifier: Apache-2.0
"""Who may see and change resource providers."""

from placement.policies import base

LIST = 'placement:resource_providers:list'
CREATE = 'placement:resource_providers:create'
SHOW = 'placement:resource_providers:show'
UPDATE = 'placement:resource_providers:update'
DELETE = 'placement:resource_providers:delete'

RULES = [
    base.route_rule(LIST, 'List resource providers.', 'GET /resource_providers'),
    base.route_rule(CREATE, 'Create a resource provider.', 'POST /resource_providers'),
    base.route_rule(SHOW, 'Show a resource provider.', 'GET /resource_providers/{uuid}'),
    base.route_rule(UPDATE, 'Update a resource provider.', 'PUT /resource_providers/{uuid}'),
    base.route_rule(DELETE, 'Delete a resource provider.', 'DELETE /resource_providers/{uuid}'),
]
