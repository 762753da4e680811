# SPDX-License-Identifier: Apache-2.0
"""Who may see and change resource classes."""

from placement.policies import base

LIST = 'placement:resource_classes:list'
CREATE = 'placement:resource_classes:create'
SHOW = 'placement:resource_classes:show'
UPDATE = 'placement:resource_classes:update'
DELETE = 'placement:resource_classes:delete'

RULES = [
    base.route_rule(LIST, 'List resource classes.', 'GET /resource_classes'),
    base.route_rule(CREATE, 'Create a resource class.', 'POST /resource_classes'),
    base.route_rule(SHOW, 'Show a resource class.', 'GET /resource_classes/{name}'),
    base.route_rule(UPDATE, 'Create or rename a resource class.', 'PUT /resource_classes/{name}'),
    base.route_rule(DELETE, 'Delete a resource class.', 'DELETE /resource_classes/{name}'),
]
