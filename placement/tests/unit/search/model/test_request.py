# SPDX-License-Identifier: Apache-2.0
"""The request of a search as a value."""

from placement.tests.unit.search.cloud import parse


def test_totals_are_the_amounts_of_all_groups() -> None:
    request = parse('resources=VCPU:2,DISK_GB:5&resources_A=VCPU:1&resources_B=VCPU:3,VGPU:1')
    assert request.totals == {'VCPU': 6, 'DISK_GB': 5, 'VGPU': 1}
