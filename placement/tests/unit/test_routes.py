# SPDX-License-Identifier: Apache-2.0
"""The table of routes."""

from oslo_policy.policy import DocumentedRuleDefault

from placement import policies
from placement.routes import installed_surface


def test_one_rule_guards_each_route_but_the_root() -> None:
    described = [rule for rule in policies.list_rules() if isinstance(rule, DocumentedRuleDefault)]
    guarded = [(o['method'], o['path']) for rule in described for o in rule.operations]

    routes = installed_surface().routes
    assert sorted(guarded) == sorted((r.method, r.path) for r in routes if not r.is_public)
    assert {r.path for r in routes if r.is_public} == {'/', ''}
