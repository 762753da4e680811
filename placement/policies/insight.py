# SPDX-License-Identifier: Apache-2.0
"""Who may ask what is below `/insight`."""

from placement.policies import base

SHOW = 'placement:insight:show'
ALLOCATION_CANDIDATES = 'placement:insight:allocation_candidates'
CAPACITY = 'placement:insight:capacity'
UNMET_DEMAND = 'placement:insight:unmet_demand'
PROVIDERS = 'placement:insight:providers'
CONSUMERS = 'placement:insight:consumers'
USAGES = 'placement:insight:usages'
CHANGES = 'placement:insight:changes'
HISTORY = 'placement:insight:history'

RULES = [
    base.route_rule(SHOW, 'Show which questions are answered.', 'GET /insight'),
    base.route_rule(
        ALLOCATION_CANDIDATES,
        'Explain why a request finds no allocation candidates.',
        'GET /insight/allocation_candidates',
    ),
    base.route_rule(
        CAPACITY,
        'Show how often requests would fit.',
        'GET /insight/capacity',
        'POST /insight/capacity',
    ),
    base.route_rule(
        UNMET_DEMAND,
        'List what was searched for in vain.',
        'GET /insight/unmet_demand',
    ),
    base.route_rule(
        PROVIDERS,
        'List resource providers with everything that is known of them.',
        'GET /insight/providers',
    ),
    base.route_rule(CONSUMERS, 'List consumers with what they hold.', 'GET /insight/consumers'),
    base.route_rule(
        USAGES,
        'List what is used by each project, user or type, or in each aggregate.',
        'GET /insight/usages',
    ),
    base.route_rule(
        CHANGES,
        'List resource providers that have changed since they were read.',
        'GET /insight/changes',
    ),
    base.route_rule(
        HISTORY,
        'List who changed what, with the users and projects of consumers.',
        'GET /insight/history',
        check=f'rule:{base.ADMIN}',
    ),
]
