# SPDX-License-Identifier: Apache-2.0
"""Traits, and the traits of providers (specification: traits)."""

from typing import Any

import pytest

from placement import errors
from placement.objects import trait
from placement.objects.trait import Trait, TraitList
from placement.tests.unit.objects.cloud import Cloud

AVX, SSE = 'HW_CPU_X86_AVX', 'HW_CPU_X86_SSE'


def names(cloud: Cloud, **filters: Any) -> set[str]:
    return {row.name for row in trait.list_by_filters(cloud.context, **filters)}


def test_destroy_of_a_deleted_trait_does_not_reach_the_one_with_its_id(
    cloud: Cloud,
) -> None:
    Trait.ensure(cloud.context, 'CUSTOM_A')
    late = Trait.get_by_name(cloud.context, 'CUSTOM_A')
    Trait.get_by_name(cloud.context, 'CUSTOM_A').destroy()
    Trait.ensure(cloud.context, 'CUSTOM_B')
    assert Trait.get_by_name(cloud.context, 'CUSTOM_B').id == late.id

    with pytest.raises(errors.TraitNotFound):
        late.destroy()

    Trait.get_by_name(cloud.context, 'CUSTOM_B')


def test_many_traits_cost_as_many_statements_as_one(cloud: Cloud) -> None:
    host = cloud.add('host')
    everything = sorted(names(cloud, prefix='HW_CPU'))

    def cost(wanted: list[str]) -> int:
        TraitList.replace(cloud.context, host, [SSE], cloud.generation('host'))
        with cloud.statements() as statements:
            TraitList.replace(cloud.context, host, wanted, cloud.generation('host'))
        return len(statements)

    assert cost([AVX]) == cost([name for name in everything if name != SSE])


@pytest.mark.parametrize('prefix', ['%' * 60_000, 'C' * 60_000, '%', '_' * 7, 'CUSTOM\\', '/'])
def test_prefix_has_no_wildcards_and_may_be_longer_than_any_name(
    cloud: Cloud, prefix: str
) -> None:
    Trait.ensure(cloud.context, 'CUSTOM_A')

    assert names(cloud, prefix=prefix) == set()
    assert names(cloud, prefix='CUSTOM_') == {'CUSTOM_A'}
