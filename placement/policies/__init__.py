# SPDX-License-Identifier: Apache-2.0
"""Policy: the rules as a table, and the enforcer that asks oslo.policy (specification: policy)."""

from oslo_policy import policy

from placement import extension
from placement.policies.rules import RULES


def list_rules() -> list[policy.RuleDefault]:
    """List every rule with its default, including extensions, for the tools of oslo.policy."""
    added = [rule for each in extension.list_installed() for rule in each.rules]
    return [*RULES, *added]


def rules_by_route() -> dict[tuple[str, str], policy.RuleDefault]:
    """The rule that guards a route, by method and path."""
    return {
        (operation['method'], operation['path']): rule
        for rule in list_rules()
        if isinstance(rule, policy.DocumentedRuleDefault)
        for operation in rule.operations
    }
