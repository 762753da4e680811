# SPDX-License-Identifier: Apache-2.0
"""The upstream schema, written out, and the schema that a database has.

Specification: data_model, "Tables".
"""

from typing import Any, NamedTuple

import sqlalchemy as sa


class Table(NamedTuple):
    """A table of the specification, without the two times."""

    # By name: the type, and a '?' where NULL is allowed.
    columns: dict[str, str]
    primary_key: tuple[str, ...] = ('id',)
    uniques: dict[str, tuple[str, ...]] = {}
    indexes: dict[str, tuple[str, ...]] = {}
    # By column: the table whose id it holds, and the name of the constraint, if it has one.
    foreign_keys: dict[str, tuple[str, str | None]] = {}
    defaults: dict[str, str] = {}


TIMES = {'created_at': 'DATETIME?', 'updated_at': 'DATETIME?'}

UPSTREAM_TABLES = {
    'resource_providers': Table(
        columns={
            'id': 'INTEGER',
            'uuid': 'VARCHAR(36)',
            'name': 'VARCHAR(200)?',
            'generation': 'INTEGER?',
            'root_provider_id': 'INTEGER?',
            'parent_provider_id': 'INTEGER?',
        },
        uniques={
            'uniq_resource_providers0uuid': ('uuid',),
            'uniq_resource_providers0name': ('name',),
        },
        indexes={
            'resource_providers_root_provider_id_idx': ('root_provider_id',),
            'resource_providers_parent_provider_id_idx': ('parent_provider_id',),
        },
        foreign_keys={
            'root_provider_id': ('resource_providers', None),
            'parent_provider_id': ('resource_providers', None),
        },
    ),
    'inventories': Table(
        columns={
            'id': 'INTEGER',
            'resource_provider_id': 'INTEGER',
            'resource_class_id': 'INTEGER',
            'total': 'INTEGER',
            'reserved': 'INTEGER',
            'min_unit': 'INTEGER',
            'max_unit': 'INTEGER',
            'step_size': 'INTEGER',
            'allocation_ratio': 'FLOAT',
        },
        uniques={
            'uniq_inventories0resource_provider_resource_class': (
                'resource_provider_id',
                'resource_class_id',
            ),
        },
        indexes={'inventories_resource_class_id_idx': ('resource_class_id',)},
    ),
    'allocations': Table(
        columns={
            'id': 'INTEGER',
            'resource_provider_id': 'INTEGER',
            'consumer_id': 'VARCHAR(36)',
            'resource_class_id': 'INTEGER',
            'used': 'INTEGER',
        },
        indexes={
            'allocations_consumer_id_idx': ('consumer_id',),
            'allocations_resource_class_id_idx': ('resource_class_id',),
            'allocations_resource_provider_class_used_idx': (
                'resource_provider_id',
                'resource_class_id',
                'used',
            ),
        },
    ),
    'consumers': Table(
        columns={
            'id': 'INTEGER',
            'uuid': 'VARCHAR(36)',
            'project_id': 'INTEGER',
            'user_id': 'INTEGER',
            'generation': 'INTEGER',
            'consumer_type_id': 'INTEGER?',
        },
        uniques={'uniq_consumers0uuid': ('uuid',)},
        indexes={
            'consumers_consumer_type_id_idx': ('consumer_type_id',),
            'consumers_project_id_uuid_idx': ('project_id', 'uuid'),
            'consumers_project_id_user_id_uuid_idx': ('project_id', 'user_id', 'uuid'),
        },
        foreign_keys={
            'consumer_type_id': ('consumer_types', 'consumers_consumer_type_id_fkey'),
        },
        defaults={'generation': '0'},
    ),
    'projects': Table(
        columns={'id': 'INTEGER', 'external_id': 'VARCHAR(255)'},
        uniques={'uniq_projects0external_id': ('external_id',)},
    ),
    'users': Table(
        columns={'id': 'INTEGER', 'external_id': 'VARCHAR(255)'},
        uniques={'uniq_users0external_id': ('external_id',)},
    ),
    'consumer_types': Table(
        columns={'id': 'INTEGER', 'name': 'VARCHAR(255)'},
        uniques={'uniq_consumer_types0name': ('name',)},
    ),
    'resource_classes': Table(
        columns={'id': 'INTEGER', 'name': 'VARCHAR(255)'},
        uniques={'uniq_resource_classes0name': ('name',)},
    ),
    'traits': Table(
        columns={'id': 'INTEGER', 'name': 'VARCHAR(255)'},
        uniques={'uniq_traits0name': ('name',)},
    ),
    'resource_provider_traits': Table(
        columns={'trait_id': 'INTEGER', 'resource_provider_id': 'INTEGER'},
        primary_key=('trait_id', 'resource_provider_id'),
        indexes={
            'resource_provider_traits_resource_provider_trait_idx': (
                'resource_provider_id',
                'trait_id',
            ),
        },
        foreign_keys={
            'trait_id': ('traits', None),
            'resource_provider_id': ('resource_providers', None),
        },
    ),
    'placement_aggregates': Table(
        columns={'id': 'INTEGER', 'uuid': 'VARCHAR(36)?'},
        uniques={'uniq_placement_aggregates0uuid': ('uuid',)},
    ),
    'resource_provider_aggregates': Table(
        columns={'resource_provider_id': 'INTEGER', 'aggregate_id': 'INTEGER'},
        primary_key=('resource_provider_id', 'aggregate_id'),
        indexes={'resource_provider_aggregates_aggregate_id_idx': ('aggregate_id',)},
    ),
}

# What the first revision has besides, and the fifth drops.
REDUNDANT_INDEXES: dict[str, dict[str, tuple[str, ...]]] = {
    'inventories': {
        'inventories_resource_provider_id_idx': ('resource_provider_id',),
        'inventories_resource_provider_resource_class_idx': (
            'resource_provider_id',
            'resource_class_id',
        ),
    },
    'placement_aggregates': {'ix_placement_aggregates_uuid': ('uuid',)},
    'resource_providers': {
        'resource_providers_name_idx': ('name',),
        'resource_providers_uuid_idx': ('uuid',),
    },
}

ALEMBIC_VERSION = Table(columns={'version_num': 'VARCHAR(32)'}, primary_key=('version_num',))


def with_times(tables: dict[str, Table]) -> dict[str, Table]:
    """The same tables, with the two times that each of them has."""
    return {
        name: table._replace(columns={**TIMES, **table.columns}) for name, table in tables.items()
    }


def reflect(engine: sa.Engine) -> dict[str, Table]:
    """The tables that a database has."""
    inspector = sa.inspect(engine)
    return {name: _reflect_table(inspector, name) for name in inspector.get_table_names()}


def _reflect_table(inspector: sa.Inspector, name: str) -> Table:
    columns = inspector.get_columns(name)
    return Table(
        columns={column['name']: _type_of(column) for column in columns},
        primary_key=tuple(inspector.get_pk_constraint(name)['constrained_columns']),
        uniques={
            str(unique['name']): tuple(unique['column_names'])
            for unique in inspector.get_unique_constraints(name)
        },
        indexes={
            str(index['name']): tuple(str(column) for column in index['column_names'])
            for index in inspector.get_indexes(name)
        },
        foreign_keys={
            key['constrained_columns'][0]: (key['referred_table'], key['name'])
            for key in inspector.get_foreign_keys(name)
        },
        defaults={
            column['name']: str(column['default'])
            for column in columns
            if column['default'] is not None
        },
    )


def _type_of(column: Any) -> str:
    return f'{column["type"]}?' if column['nullable'] else str(column['type'])
