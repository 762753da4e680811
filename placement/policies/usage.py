# SPDX-License-Identifier: Apache-2.0
"""Who may see usage."""

from placement.policies import base

SHOW_PROVIDER = 'placement:resource_providers:usages'
SHOW_TOTAL = 'placement:usages'

RULES = [
    base.route_rule(
        SHOW_PROVIDER,
        'Show the usage of a resource provider.',
        'GET /resource_providers/{uuid}/usages',
    ),
    base.route_rule(
        SHOW_TOTAL,
        'Show the usage of a project, or of one user of it. Readers see their own project.',
        'GET /usages',
        check=f'rule:{base.ADMIN_OR_PROJECT_READER_OR_SERVICE}',
    ),
]
