# SPDX-License-Identifier: Apache-2.0
"""The reshaper (specification: reshaper)."""

from placement.schemas import allocation, common, inventory

# No real client comes near: a reshape is of one host.
MAX_PROVIDERS = 10_000


def _reshape(allocations: common.Schema) -> common.Schema:
    """Inventories of some providers and allocations of any number of consumers."""
    without_minimum = {k: v for k, v in allocations.items() if k != 'minProperties'}
    return common.an_object(
        {
            'inventories': {'maxProperties': MAX_PROVIDERS}
            | common.keyed_by(common.UUID_KEY_PATTERN, inventory.SET, minProperties=1),
            'allocations': without_minimum,
        }
    )


RESHAPE = _reshape(allocation.SET_MANY_WITH_GENERATION)
RESHAPE_WITH_MAPPINGS = _reshape(allocation.SET_MANY_WITH_MAPPINGS)
RESHAPE_WITH_TYPE = _reshape(allocation.SET_MANY_WITH_TYPE)
