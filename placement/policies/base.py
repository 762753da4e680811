# SPDX-License-Identifier: Apache-2.0
"""The rules that others are made of, and the shape of a rule that guards a route.

Specification: policy, "Base rules".
"""

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
    """A rule whose predecessor let in administrators.

    The predecessor carries the name of the rule itself: an operator who overrides ``admin_api``
    does not change the others by it.
    """
    predecessor = policy.DeprecatedRule(
        name, 'role:admin', deprecated_reason=_REASON, deprecated_since='Wallaby'
    )
    return policy.RuleDefault(
        name, check, description, deprecated_rule=predecessor, scope_types=scope_types
    )


def route_rule(
    name: str,
    description: str,
    *operations: str,
    check: str = f'rule:{ADMIN_OR_SERVICE}',
) -> policy.DocumentedRuleDefault:
    """A rule that guards routes, each given as ``'METHOD /path'``."""
    described: list[policy.Operation] = []
    for operation in operations:
        method, path = operation.split(' ')
        described.append({'method': method, 'path': path})
    return policy.DocumentedRuleDefault(
        name, check, description, described, scope_types=['project']
    )


RULES: list[policy.RuleDefault] = [
    policy.RuleDefault(
        ADMIN, 'role:admin', 'Administrators of the cloud.', scope_types=['project']
    ),
    _base_rule(SERVICE, 'role:service', 'Other services of the cloud.', ['project']),
    _base_rule(
        ADMIN_OR_SERVICE,
        'role:admin or role:service',
        'Administrators and other services of the cloud.',
        ['project'],
    ),
    _base_rule(
        PROJECT_READER,
        'role:reader and project_id:%(project_id)s',
        'Readers, for their own project.',
        None,
    ),
    _base_rule(
        ADMIN_OR_PROJECT_READER_OR_SERVICE,
        f'role:admin or rule:{PROJECT_READER} or role:service',
        'Administrators, other services, and readers for their own project.',
        ['project'],
    ),
]
