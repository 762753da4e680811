# SPDX-License-Identifier: Apache-2.0
"""Policy rules of the questions below `/insight`."""

from placement.policies.rules import ADMIN, rule

# fmt: off
RULES = (
    rule('insight:show', 'Show which questions are answered.', 'GET /insight'),
    rule('insight:allocation_candidates', 'Explain why a request finds no allocation candidates.',
        'GET /insight/allocation_candidates', 'POST /insight/allocation_candidates'),
    rule('insight:capacity', 'Show how many times requests would fit.',
        'GET /insight/capacity', 'POST /insight/capacity'),
    rule('insight:survival', 'Show which failures the cloud can take.', 'POST /insight/survival'),
    rule('insight:drain', 'Plan the moves that empty hosts.', 'POST /insight/drain'),
    rule('insight:moves', 'Check whether moves are possible.', 'POST /insight/moves'),
    rule('insight:promises', 'List promises of room, and show which are kept.',
        'GET /insight/promises', 'GET /insight/promises/{name}'),
    rule('insight:promises:takers',
        'List the changes that took room from a promise, with the users and projects of callers '
        'and consumers.', 'GET /insight/promises/{name}/takers', check=f'rule:{ADMIN}'),
    rule('insight:promises:update', 'Set and delete promises of room.',
        'PUT /insight/promises/{name}', 'DELETE /insight/promises/{name}', check=f'rule:{ADMIN}'),
    rule('insight:unmet_demand', 'List unmet demand.',
        'GET /insight/unmet_demand'),
    rule('insight:providers', 'List resource providers with all of their data.',
        'GET /insight/providers'),
    rule('insight:consumers', 'List consumers with their allocations.', 'GET /insight/consumers'),
    rule('insight:usages',
        'List the usage of each project, user or type, or in each aggregate.',
        'GET /insight/usages'),
    rule('insight:changes', 'List resource providers that have changed since they were read.',
        'GET /insight/changes'),
    rule('insight:names', 'Show the names that the operator gives to aggregates and requests.',
        'GET /insight/names'),
    rule('insight:history', 'List changes with the users and projects of callers and consumers.',
        'GET /insight/history', check=f'rule:{ADMIN}'),
)
# fmt: on
