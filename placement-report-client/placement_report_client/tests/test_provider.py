# SPDX-License-Identifier: Apache-2.0
"""When an inventory or a parent is what it should be, and names that cannot be created."""

import dataclasses

import pytest

import placement_report_client as client
from placement_report_client.tests.scripted import Scripted, answer, report

INVENTORY = client.Inventory(8, 1, 2, 4, 2, 1.5)


@pytest.mark.parametrize('field', [field.name for field in dataclasses.fields(INVENTORY)])
def test_inventories_that_differ_in_any_field_do_not_match(field: str) -> None:
    other = dataclasses.replace(INVENTORY, **{field: getattr(INVENTORY, field) * 2})
    assert not INVENTORY.matches(other)


def test_inventories_match_despite_rounding_of_ratios() -> None:
    exact, kept = client.Inventory(8, allocation_ratio=16.12345678), 16.1235
    assert exact.matches(dataclasses.replace(exact, allocation_ratio=kept))


def below(parent: str | None) -> Scripted:
    """A service that cannot give a provider another parent, with a host below this one."""
    host = {'uuid': 'h', 'name': 'host', 'parent_provider_uuid': parent}
    return Scripted(answer(body={'resource_providers': [host]}), answer(), newest='1.36')


def test_changing_a_parent_needs_reparenting_but_setting_the_first_does_not() -> None:
    host = client.Provider('h', 'host')
    with pytest.raises(client.TooOld, match=r'another parent.*1\.37'):
        report(below('old')).ensure_tree(host, parent='new')
    service = below(None)
    report(service).ensure_tree(host, parent='new')
    assert service.sent[-1].body == {'name': 'host', 'parent_provider_uuid': 'new'}


def test_missing_standard_traits_are_not_created() -> None:
    service = Scripted(answer(body={'traits': ['HW_A']}))
    with pytest.raises(client.Gone, match='does not have the traits HW_B, HW_C'):
        report(service).ensure_traits(['HW_C', 'HW_A', 'HW_B', 'CUSTOM_D'])
    assert len(service.lines()) == 1
