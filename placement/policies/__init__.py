# SPDX-License-Identifier: Apache-2.0
"""Policy: the rules as a table, and the enforcer that asks oslo.policy (specification: policy)."""

from oslo_policy import policy

from placement.policies.rules import RULES


def list_rules() -> list[policy.RuleDefault]:
    """List every rule with its default, for the tools of oslo.policy."""
    return list(RULES)
