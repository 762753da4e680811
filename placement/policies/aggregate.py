# SPDX-License-Identifier: Apache-2.0
"""Who may see and change the aggregates of a resource provider."""

from placement.policies import base

LIST = 'placement:resource_providers:aggregates:list'
UPDATE = 'placement:resource_providers:aggregates:update'

_PATH = '/resource_providers/{uuid}/aggregates'

RULES = [
    base.route_rule(LIST, 'List the aggregates of a resource provider.', f'GET {_PATH}'),
    base.route_rule(UPDATE, 'Replace the aggregates of a resource provider.', f'PUT {_PATH}'),
]
