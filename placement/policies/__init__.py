# SPDX-License-Identifier: Apache-2.0
"""Every policy rule of the service, one module per resource (specification: policy)."""

from oslo_policy import policy

from placement.policies import (
    aggregate,
    allocation,
    allocation_candidate,
    base,
    insight,
    inventory,
    reshaper,
    resource_class,
    resource_provider,
    trait,
    usage,
)

MODULES = (
    base,
    resource_provider,
    resource_class,
    inventory,
    aggregate,
    usage,
    trait,
    allocation,
    allocation_candidate,
    reshaper,
    insight,
)


def list_rules() -> list[policy.RuleDefault]:
    """Every rule with its default, as the tools of oslo.policy ask for them."""
    return [rule for module in MODULES for rule in module.RULES]
