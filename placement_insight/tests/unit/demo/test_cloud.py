# SPDX-License-Identifier: Apache-2.0
"""The cloud of the demonstration, in memory."""

import collections
import pkgutil

import pytest
import yaml

from placement_insight.demo_cloud import cloud
from placement_insight.demo_cloud.cloud import Cloud, DemoProvider


@pytest.fixture(scope='module')
def made() -> Cloud:
    return cloud.make_cloud()


def root_of(provider: DemoProvider) -> DemoProvider:
    return provider if provider.parent is None else root_of(provider.parent)


def test_seed_alone_makes_the_claims_differ(made: Cloud) -> None:
    other = cloud.make_cloud(seed=18)

    assert cloud.make_cloud() == made
    assert other.providers == made.providers
    assert other.claims != made.claims


def test_aggregates_and_flavors_have_names(made: Cloud) -> None:
    aggregates = {uuid for one in made.providers for uuid in map(cloud.uuid_of, one.aggregates)}
    assert (
        yaml.safe_load(pkgutil.get_data(cloud.__name__, 'aggregate_names.yaml')).keys()
        == aggregates
    )


def test_what_is_in_use_fits_but_where_inventories_shrank(made: Cloud) -> None:
    taken: collections.Counter[tuple[str, str]] = collections.Counter()
    for claim in made.claims:
        for uuid, resources in claim.resources.items():
            taken.update({(uuid, name): amount for name, amount in resources.items()})
    over = {
        one.name
        for one in made.providers
        for name, inventory in (
            dict(one.inventories) | dict(made.shrunk.get(one.name, {}))
        ).items()
        if taken[one.uuid, name] > cloud.capacity_of(inventory)
    }
    assert over == set(made.shrunk) != set()


def test_a_server_is_on_one_host_and_its_storage(made: Cloud) -> None:
    roots = {one.uuid: root_of(one).name for one in made.providers}
    for claim in made.claims:
        found = {roots[uuid] for uuid in claim.resources} - {'az2-ceph'}
        assert len(found) == 1


def test_the_hosts_of_one_zone_are_upgraded(made: Cloud) -> None:
    upgraded = {one.name for one in made.providers if 'OWNER_NOVA' in one.traits}
    in_zone = {one.name for one in made.providers if 'az3' in root_of(one).aggregates}
    assert upgraded == in_zone
    assert all(one.parent in made.providers for one in made.providers if one.parent is not None)
