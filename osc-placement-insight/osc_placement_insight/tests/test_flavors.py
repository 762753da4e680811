# SPDX-License-Identifier: Apache-2.0
"""A flavor is asked for as nova asks for it."""

import pytest

from osc_placement_insight import flavors
from osc_placement_insight.flavors import Flavor
from osc_placement_insight.tests.flavor_cases import (
    PLAIN,
    REFUSED,
    TRANSLATED,
    UNTRANSLATED,
    Specs,
    flavor,
)


@pytest.mark.parametrize(('specs', 'parameters'), TRANSLATED)
def test_extra_specs_are_asked_for_as_nova_does(specs: Specs, parameters: dict[str, str]) -> None:
    translation = flavors.translate(flavor(specs))

    assert translation.untranslated == {}
    assert translation.query == sorted({**PLAIN, **parameters}.items())


@pytest.mark.parametrize(
    ('specs', 'reason'), [*UNTRANSLATED, *((specs, 'nova refuses') for specs in REFUSED)]
)
def test_what_cannot_be_translated_is_told(specs: Specs, reason: str) -> None:
    ((spec, why),) = flavors.translate(flavor(specs)).untranslated.items()

    assert [spec] == [f'{name}={value}' for name, value in specs.items()]
    assert reason in why


def test_disks_are_summed_and_swap_is_rounded_up_to_whole_gibibytes() -> None:
    disks = Flavor('m1', vcpus=1, ram=512, disk=20, ephemeral=10, swap=1025)

    query = dict(flavors.translate(disks).query)
    assert query['resources'] == 'DISK_GB:32,MEMORY_MB:512,VCPU:1'


def test_a_server_that_boots_from_a_volume_needs_no_root_disk() -> None:
    query = dict(flavors.translate(flavor({}), boot_from_volume=True).query)

    assert query['resources'] == 'MEMORY_MB:8192,VCPU:4'
