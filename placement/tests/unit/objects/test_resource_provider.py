# SPDX-License-Identifier: Apache-2.0
"""Providers and their trees (specification: resource_providers)."""

from collections.abc import Iterable, Mapping

import pytest
import sqlalchemy as sa

from placement import errors
from placement.db.mode import Mode
from placement.db.schema import tables
from placement.db.statements import odd_rows
from placement.db.statements.provider_filters import ProviderFilters
from placement.objects import aggregate, resource_provider
from placement.objects.trait import TraitList
from placement.schemas.common import NOT_SENT
from placement.tests.unit.objects.cloud import Cloud, uuid_of


def test_a_new_root_was_updated_and_a_new_child_was_not(cloud: Cloud) -> None:
    root, child = cloud.add('root'), cloud.add('child', parent='root')

    assert root.updated_at is not None
    assert child.updated_at is None
    assert child.created_at is not None


def test_update_of_a_deleted_provider_raises_not_found(cloud: Cloud) -> None:
    host = cloud.add('host')
    cloud.provider('host').destroy()

    with pytest.raises(errors.ResourceProviderNotFound):
        host.update('host', NOT_SENT, may_reparent=True)


def test_destroy_deletes_inventories_aggregates_and_traits(cloud: Cloud) -> None:
    host = cloud.add('host', VCPU=4)
    aggregate.replace(cloud.context, host, [uuid_of('rack')], None)
    TraitList.replace(cloud.context, host, ['HW_CPU_X86_AVX'], cloud.generation('host'))

    cloud.provider('host').destroy()

    for table in (
        tables.resource_providers,
        tables.inventories,
        tables.resource_provider_aggregates,
        tables.resource_provider_traits,
    ):
        assert cloud.rows(*table.primary_key.columns[:1]) == []
    assert cloud.rows(tables.placement_aggregates.c.uuid) == [(uuid_of('rack'),)]


def test_children_are_reported_before_allocations(cloud: Cloud) -> None:
    cloud.add('host', VCPU=4)
    cloud.add('child', parent='host')
    cloud.take('server', {'host': {'VCPU': 1}})

    with pytest.raises(errors.ResourceProviderHasChildren):
        cloud.provider('host').destroy()


def test_a_list_takes_one_statement_however_long_it_is(cloud: Cloud) -> None:
    for name in ('one', 'two', 'three'):
        cloud.add(name)

    with cloud.statements() as statements:
        resource_provider.list_by_filters(cloud.context, ProviderFilters())

    assert len(statements) == 1


def test_nobody_has_room_for_an_amount_beyond_what_a_column_holds(cloud: Cloud) -> None:
    cloud.add('host', VCPU={'total': 4, 'allocation_ratio': 1e30})

    filters = ProviderFilters(resources={'VCPU': 2**63})
    assert resource_provider.list_by_filters(cloud.context, filters) == []


# Circles of parents, which only rows by hand hold


def put_below(cloud: Cloud, parents: Mapping[str, str]) -> None:
    """Give providers other parents by hand, as no request does."""
    ids = {name: cloud.provider(name).id for name in {*parents, *parents.values()}}
    with cloud.database.engine.begin() as connection:
        for name, parent in parents.items():
            statement = sa.update(tables.resource_providers).where(
                tables.resource_providers.c.id == ids[name]
            )
            connection.execute(statement.values(parent_provider_id=ids[parent]))


def places(cloud: Cloud, *names: str) -> dict[str, tuple[str | None, str | None]]:
    """The uuids of the parent and the root of each provider."""
    found = {name: cloud.provider(name) for name in names}
    return {
        name: (provider.parent_provider_uuid, provider.root_provider_uuid)
        for name, provider in found.items()
    }


def odd(cloud: Cloud) -> dict[str, odd_rows.Found]:
    """The odd rows by kind."""
    with cloud.database.begin(Mode.READ) as connection:
        return odd_rows.count(connection)


def lowest(names: Iterable[str]) -> str:
    """The lowest uuid of some providers."""
    return min(map(uuid_of, names))


@pytest.fixture
def chain(cloud: Cloud) -> Cloud:
    """The root `root`, `a` below it, `b` below that, and so on; and another root."""
    cloud.add('root')
    cloud.add('other')
    for name, parent in ('a', 'root'), ('b', 'a'), ('c', 'b'), ('d', 'c'):
        cloud.add(name, parent=parent)
    return cloud


def test_no_tree_of_the_api_holds_a_circle(chain: Cloud) -> None:
    assert odd(chain) == {}


@pytest.mark.parametrize('size', [1, 2, 3])
def test_a_circle_within_a_tree_is_found_and_opened(chain: Cloud, size: int) -> None:
    names = 'abc'[:size]
    put_below(chain, {'a': names[-1]})
    assert odd(chain) == {'providers that are below themselves': (size, lowest(names))}

    chain.provider('a').update('a', None, may_reparent=True)

    a = uuid_of('a')
    assert places(chain, *'abcd') == {
        'a': (None, a), 'b': (a, a), 'c': (uuid_of('b'), a), 'd': (uuid_of('c'), a),
    }  # fmt: skip
    assert places(chain, 'root') == {'root': (None, uuid_of('root'))}
    assert odd(chain) == {}
    chain.provider('a').update('a', uuid_of('root'), may_reparent=True)
    assert {root for _parent, root in places(chain, 'root', *'abcd').values()} == {uuid_of('root')}


def test_a_circle_across_trees_is_found_and_opened_one_by_one(chain: Cloud) -> None:
    put_below(chain, {'other': 'd', 'a': 'other'})
    apart = 'providers with another root than their parent'
    assert odd(chain) == {
        apart: (2, lowest(('a', 'other'))),
        'providers that are below themselves': (5, lowest(('other', *'abcd'))),
    }

    chain.provider('a').update('a', None, may_reparent=True)

    assert odd(chain) == {apart: (1, uuid_of('other'))}
    chain.provider('other').update('other', None, may_reparent=True)
    assert odd(chain) == {}
    assert places(chain, 'a', 'other', 'd') == {
        'a': (None, uuid_of('a')),
        'other': (None, uuid_of('other')),
        'd': (uuid_of('c'), uuid_of('a')),
    }


def test_what_is_below_a_circle_is_no_parent_of_it(chain: Cloud) -> None:
    put_below(chain, {'a': 'b'})

    with pytest.raises(errors.ResourceProviderActionFailed, match='creating loop'):
        chain.provider('a').update('a', uuid_of('d'), may_reparent=True)
