# SPDX-License-Identifier: Apache-2.0
"""Traits, and the traits of providers (specification: traits)."""

from typing import Any

import pytest

from placement import errors
from placement.objects import trait
from placement.objects.trait import Trait
from placement.tests.unit.objects.cloud import Cloud

AVX, SSE = 'HW_CPU_X86_AVX', 'HW_CPU_X86_SSE'


def names(cloud: Cloud, **filters: Any) -> set[str]:
    return {row.name for row in trait.list_by_filters(cloud.context, **filters)}


def of_host(cloud: Cloud) -> set[str]:
    rows = trait.list_by_provider(cloud.context, cloud.provider('host'))
    return {row.name for row in rows}


def test_a_custom_trait_is_made_once(cloud: Cloud) -> None:
    first, created = Trait.ensure(cloud.context, 'CUSTOM_A')
    assert created
    assert first.created_at is not None

    second, created = Trait.ensure(cloud.context, 'CUSTOM_A')
    assert not created
    assert second.id == first.id


def test_an_unknown_trait_is_not_found(cloud: Cloud) -> None:
    with pytest.raises(errors.TraitNotFound) as raised:
        Trait.get_by_name(cloud.context, 'CUSTOM_A')

    assert str(raised.value) == 'No such trait(s): CUSTOM_A.'


def test_a_standard_trait_cannot_be_deleted(cloud: Cloud) -> None:
    with pytest.raises(errors.StandardTrait) as raised:
        Trait.get_by_name(cloud.context, AVX).destroy()

    assert str(raised.value) == f'Cannot delete standard trait {AVX}.'
    assert Trait.get_by_name(cloud.context, AVX).name == AVX


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


def test_a_custom_trait_is_deleted_unless_a_provider_has_it(cloud: Cloud) -> None:
    found, _created = Trait.ensure(cloud.context, 'CUSTOM_A')
    host = cloud.add('host')
    trait.replace(cloud.context, host, ['CUSTOM_A'], 0)

    with pytest.raises(errors.TraitInUse) as raised:
        found.destroy()
    assert str(raised.value) == 'The trait CUSTOM_A is in use by a resource provider.'

    trait.clear(cloud.context, host)
    found.destroy()
    assert names(cloud, names=['CUSTOM_A']) == set()


@pytest.mark.parametrize(
    ('name', 'is_custom'),
    [
        ('CUSTOM_A', True),
        ('CUSTOM_0', True),
        ('CUSTOM__', True),
        ('CUSTOM_' + 'A' * 248, True),
        ('CUSTOM_' + 'A' * 249, False),
        ('CUSTOM_', False),
        ('CUSTOM_a', False),
        ('CUSTOM_A-B', False),
        ('CUSTOM_Ä', False),
        ('CUSTOM_A\n', False),
        ('custom_A', False),
        (AVX, False),
        ('XCUSTOM_A', False),
        ('', False),
    ],
)
def test_is_custom_name_accepts_names_with_the_custom_prefix(name: str, is_custom: bool) -> None:
    assert trait.is_custom_name(name) is is_custom


def test_traits_are_listed_by_name_and_prefix(cloud: Cloud) -> None:
    for name in ('CUSTOM_A', 'CUSTOM_B'):
        Trait.ensure(cloud.context, name)

    assert names(cloud, names=['CUSTOM_A', 'CUSTOM_C', AVX]) == {'CUSTOM_A', AVX}
    assert names(cloud, prefix='CUSTOM') == {'CUSTOM_A', 'CUSTOM_B'}
    assert names(cloud, names=['CUSTOM_A', AVX], prefix='CUSTOM') == {'CUSTOM_A'}
    assert names(cloud) > {'CUSTOM_A', 'CUSTOM_B', AVX}


def test_traits_are_listed_by_whether_a_provider_has_them(cloud: Cloud) -> None:
    trait.replace(cloud.context, cloud.add('host'), [AVX], 0)
    trait.replace(cloud.context, cloud.add('other'), [AVX], 0)

    assert names(cloud, associated=True) == {AVX}
    assert SSE in names(cloud, associated=False)
    assert AVX not in names(cloud, associated=False)
    assert names(cloud, names=[AVX, SSE], associated=False) == {SSE}


def test_the_traits_of_a_provider_are_replaced(cloud: Cloud) -> None:
    host = cloud.add('host')

    trait.replace(cloud.context, host, [AVX], 0)
    rows = trait.replace(cloud.context, host, [SSE, SSE], 1)

    assert [row.name for row in rows] == [SSE]
    assert of_host(cloud) == {SSE}
    assert host.generation == 2 == cloud.generation('host')


def test_the_same_traits_again_change_nothing(cloud: Cloud) -> None:
    host = cloud.add('host')
    trait.replace(cloud.context, host, [AVX, SSE], 0)
    before = cloud.everything()

    trait.replace(cloud.context, host, [SSE, AVX, AVX], 1)

    assert cloud.everything() == before


def test_a_stale_generation_is_reported_before_an_unknown_trait(cloud: Cloud) -> None:
    host = cloud.add('host')

    with pytest.raises(errors.ResourceProviderChanged) as raised:
        trait.replace(cloud.context, host, ['CUSTOM_NOBODY'], 1)

    assert str(raised.value) == (
        "Resource provider's generation already changed. "
        'Please update the generation and try again.'
    )
    assert raised.value.code == 'placement.concurrent_update'


def test_every_unknown_trait_is_reported(cloud: Cloud) -> None:
    host = cloud.add('host')

    with pytest.raises(errors.TraitNotFound) as raised:
        trait.replace(cloud.context, host, ['CUSTOM_B', AVX, 'CUSTOM_A'], 0)

    assert str(raised.value) == 'No such trait CUSTOM_B, CUSTOM_A'
    assert of_host(cloud) == set()


def test_traits_of_other_providers_stay(cloud: Cloud) -> None:
    for name in ('host', 'other'):
        trait.replace(cloud.context, cloud.add(name), [AVX], 0)

    trait.clear(cloud.context, cloud.provider('other'))

    assert of_host(cloud) == {AVX}


def test_many_traits_cost_as_many_statements_as_one(cloud: Cloud) -> None:
    host = cloud.add('host')
    everything = sorted(names(cloud, prefix='HW_CPU'))

    def cost(wanted: list[str]) -> int:
        trait.replace(cloud.context, host, [SSE], cloud.generation('host'))
        with cloud.statements() as statements:
            trait.replace(cloud.context, host, wanted, cloud.generation('host'))
        return len(statements)

    assert cost([AVX]) == cost([name for name in everything if name != SSE])


@pytest.mark.parametrize('prefix', ['%' * 60_000, 'C' * 60_000, '%', '_' * 7, 'CUSTOM\\', '/'])
def test_prefix_has_no_wildcards_and_may_be_longer_than_any_name(
    cloud: Cloud, prefix: str
) -> None:
    Trait.ensure(cloud.context, 'CUSTOM_A')

    assert names(cloud, prefix=prefix) == set()
    assert names(cloud, prefix='CUSTOM_') == {'CUSTOM_A'}
