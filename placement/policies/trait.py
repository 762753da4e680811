# SPDX-License-Identifier: Apache-2.0
"""Who may see and change traits, and the traits of a resource provider."""

from placement.policies import base

LIST = 'placement:traits:list'
SHOW = 'placement:traits:show'
UPDATE = 'placement:traits:update'
DELETE = 'placement:traits:delete'
LIST_OF_PROVIDER = 'placement:resource_providers:traits:list'
UPDATE_OF_PROVIDER = 'placement:resource_providers:traits:update'
DELETE_OF_PROVIDER = 'placement:resource_providers:traits:delete'

_PATH = '/resource_providers/{uuid}/traits'

RULES = [
    base.route_rule(LIST, 'List traits.', 'GET /traits'),
    base.route_rule(SHOW, 'Tell whether a trait exists.', 'GET /traits/{name}'),
    base.route_rule(UPDATE, 'Create a trait.', 'PUT /traits/{name}'),
    base.route_rule(DELETE, 'Delete a trait.', 'DELETE /traits/{name}'),
    base.route_rule(LIST_OF_PROVIDER, 'List the traits of a provider.', f'GET {_PATH}'),
    base.route_rule(UPDATE_OF_PROVIDER, 'Replace the traits of a provider.', f'PUT {_PATH}'),
    base.route_rule(DELETE_OF_PROVIDER, 'Remove every trait of a provider.', f'DELETE {_PATH}'),
]
