# SPDX-License-Identifier: Apache-2.0
"""min_unit, max_unit and step_size in a search.

The examples of the specification are in `gabbits/allocation-candidates-*.yaml`.
"""

import pytest

from placement.tests.unit.search.cloud import cloud, provider, search, who

UNITS = cloud(provider('cn', VCPU={'total': 20, 'min_unit': 4, 'max_unit': 12, 'step_size': 2}))


@pytest.mark.parametrize(
    ('query', 'is_found'),
    [
        ('resources=VCPU:4', True),
        ('resources=VCPU:12', True),
        ('resources=VCPU:2', False),
        ('resources=VCPU:5', False),
        ('resources=VCPU:14', False),
        ('resources_A=VCPU:6&resources_B=VCPU:6&group_policy=none', True),
        ('resources_A=VCPU:2&resources_B=VCPU:6&group_policy=none', False),
        ('resources_A=VCPU:8&resources_B=VCPU:6&group_policy=none', False),
    ],
)
def test_units_bound_what_one_consumer_takes(query: str, is_found: bool) -> None:
    assert bool(who(search(UNITS, query))) is is_found
