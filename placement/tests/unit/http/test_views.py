# SPDX-License-Identifier: Apache-2.0
"""Objects and rows as JSON, in the newest shape."""

import datetime
from types import SimpleNamespace as Row

import pytest

from placement.http import views

EARLY = datetime.datetime(2024, 1, 1)
LATE = datetime.datetime(2025, 1, 1)


def test_view_of_a_provider_has_links_in_order_under_the_mount_point() -> None:
    row = Row(uuid='u', name='n', generation=3, parent_provider_uuid=None, root_provider_uuid='u')

    shown = views.provider(row, '/placement')

    path = '/placement/resource_providers/u'
    assert shown == {
        'uuid': 'u',
        'name': 'n',
        'generation': 3,
        'parent_provider_uuid': None,
        'root_provider_uuid': 'u',
        'links': [
            {'rel': 'self', 'href': path},
            {'rel': 'inventories', 'href': f'{path}/inventories'},
            {'rel': 'usages', 'href': f'{path}/usages'},
            {'rel': 'aggregates', 'href': f'{path}/aggregates'},
            {'rel': 'traits', 'href': f'{path}/traits'},
            {'rel': 'allocations', 'href': f'{path}/allocations'},
        ],
    }


MEMBERS = {
    'total': 10,
    'reserved': 0,
    'min_unit': 1,
    'max_unit': 2147483647,
    'step_size': 1,
    'allocation_ratio': 1.0,
}


def test_views_show_inventories_by_class_and_one_alone() -> None:
    row = Row(resource_class='VCPU', **MEMBERS)

    assert views.inventories(2, [row]) == {
        'resource_provider_generation': 2,
        'inventories': {'VCPU': MEMBERS},
    }
    assert views.inventories(2, [])['inventories'] == {}
    assert views.one_inventory(2, row) == MEMBERS | {'resource_provider_generation': 2}


def test_views_show_usages_by_class_or_by_type() -> None:
    rows = [
        Row(consumer_type='INSTANCE', consumer_count=2, resource_class='VCPU', used=3),
        Row(consumer_type='INSTANCE', consumer_count=2, resource_class='DISK_GB', used=4),
        Row(consumer_type=None, consumer_count=1, resource_class='VCPU', used=5),
    ]

    assert views.provider_usages(1, rows[:2]) == {
        'resource_provider_generation': 1,
        'usages': {'VCPU': 3, 'DISK_GB': 4},
    }
    assert views.usages_by_type(rows) == {
        'usages': {
            'INSTANCE': {'consumer_count': 2, 'VCPU': 3, 'DISK_GB': 4},
            'unknown': {'consumer_count': 1, 'VCPU': 5},
        }
    }


def allocation(provider: str, resource_class: str, used: int) -> Row:
    return Row(
        provider_uuid=provider, provider_generation=7, resource_class=resource_class, used=used
    )


def test_view_of_a_consumer_has_its_allocations_by_provider() -> None:
    consumer = Row(project_id='p', user_id='u', generation=3, consumer_type='INSTANCE')
    rows = [allocation('a', 'VCPU', 2), allocation('a', 'DISK_GB', 5), allocation('b', 'VCPU', 1)]

    assert views.consumer_allocations(rows, consumer) == {
        'allocations': {
            'a': {'generation': 7, 'resources': {'VCPU': 2, 'DISK_GB': 5}},
            'b': {'generation': 7, 'resources': {'VCPU': 1}},
        },
        'project_id': 'p',
        'user_id': 'u',
        'consumer_generation': 3,
        'consumer_type': 'INSTANCE',
    }


def test_view_of_a_consumer_without_type_says_unknown() -> None:
    consumer = Row(project_id='p', user_id='u', generation=3, consumer_type=None)

    shown = views.consumer_allocations([allocation('a', 'VCPU', 2)], consumer)

    assert shown['consumer_type'] == 'unknown'


def test_view_of_a_consumer_without_allocations_has_no_other_members() -> None:
    assert views.consumer_allocations([], None) == {'allocations': {}}


def test_view_of_a_provider_has_its_allocations_by_consumer() -> None:
    rows = [
        Row(consumer_uuid='c', consumer_generation=3, resource_class='VCPU', used=2),
        Row(consumer_uuid='c', consumer_generation=3, resource_class='DISK_GB', used=5),
    ]

    assert views.provider_allocations(7, rows) == {
        'resource_provider_generation': 7,
        'allocations': {'c': {'resources': {'VCPU': 2, 'DISK_GB': 5}, 'consumer_generation': 3}},
    }


def test_views_show_traits_aggregates_and_classes_by_name() -> None:
    assert views.provider_traits(1, [Row(name='T')]) == {
        'traits': ['T'],
        'resource_provider_generation': 1,
    }
    assert views.aggregates(1, ('a', 'b')) == {
        'aggregates': ['a', 'b'],
        'resource_provider_generation': 1,
    }
    assert views.resource_class('VCPU', '/placement') == {
        'name': 'VCPU',
        'links': [{'rel': 'self', 'href': '/placement/resource_classes/VCPU'}],
    }


def test_root_document_has_the_version_bounds() -> None:
    assert views.versions('1.0', '1.39') == {
        'versions': [
            {
                'id': 'v1.0',
                'max_version': '1.39',
                'min_version': '1.0',
                'status': 'CURRENT',
                'links': [{'rel': 'self', 'href': ''}],
            }
        ]
    }


@pytest.mark.parametrize(
    ('created', 'updated', 'modified'),
    [(EARLY, LATE, LATE), (EARLY, None, EARLY), (None, None, None)],
)
def test_modified_at_is_the_creation_of_an_unchanged_record(
    created: datetime.datetime | None,
    updated: datetime.datetime | None,
    modified: datetime.datetime | None,
) -> None:
    assert views.modified_at(Row(created_at=created, updated_at=updated)) == modified


def test_latest_of_no_times_is_none() -> None:
    assert views.latest([EARLY, None, LATE, EARLY]) == LATE
    assert views.latest([None]) is None
    assert views.latest([]) is None
