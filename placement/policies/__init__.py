# SPDX-License-Identifier: Apache-2.0
"""Policy: the rules as a table, and the enforcer that asks oslo.policy (specification: policy)."""

from placement.policies.rules import RULES, PolicyRule

__all__ = ['RULES', 'PolicyRule', 'list_rules']


def list_rules() -> list[PolicyRule]:
    """List every rule with its default, for the tools of oslo.policy."""
    return list(RULES)
