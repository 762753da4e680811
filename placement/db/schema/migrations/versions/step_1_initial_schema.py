# SPDX-License-Identifier: Apache-2.0
"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = 'b4ed3a175331'
down_revision = None


def upgrade() -> None:
    """Create every table but `consumer_types`."""
    create_inventory_tables()
    create_allocation_tables()
    create_provider_tables()
    create_trait_tables()
    create_aggregate_tables()


def create_table(name: str, *items: sa.schema.SchemaItem) -> None:
    """Create a table with the two timestamps of every table."""
    op.create_table(
        name, sa.Column('created_at', sa.DateTime), sa.Column('updated_at', sa.DateTime), *items
    )


def create_numbered_table(name: str, *items: sa.schema.SchemaItem) -> None:
    """Create a table with the timestamps, and ids."""
    create_table(name, sa.Column('id', sa.Integer, primary_key=True, nullable=False), *items)


def integer(name: str, *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=nullable)


def create_names(table: str, column: sa.Column[str], *items: sa.schema.SchemaItem) -> None:
    """Create a table of unique names, or uuids, with their ids."""
    unique = sa.UniqueConstraint(column.name, name=f'uniq_{table}0{column.name}')
    create_numbered_table(table, column, *items, unique)


def create_inventory_tables() -> None:
    create_names('resource_classes', sa.Column('name', sa.String(255), nullable=False))
    create_numbered_table(
        'inventories',
        integer('resource_provider_id'),
        integer('resource_class_id'),
        integer('total'),
        integer('reserved'),
        integer('min_unit'),
        integer('max_unit'),
        integer('step_size'),
        sa.Column('allocation_ratio', sa.Float, nullable=False),
        sa.Index('inventories_resource_class_id_idx', 'resource_class_id'),
        sa.Index('inventories_resource_provider_id_idx', 'resource_provider_id'),
        sa.Index(
            'inventories_resource_provider_resource_class_idx',
            'resource_provider_id',
            'resource_class_id',
        ),
        sa.UniqueConstraint(
            'resource_provider_id',
            'resource_class_id',
            name='uniq_inventories0resource_provider_resource_class',
        ),
    )


def create_allocation_tables() -> None:
    create_numbered_table(
        'allocations',
        integer('resource_provider_id'),
        sa.Column('consumer_id', sa.String(36), nullable=False),
        integer('resource_class_id'),
        integer('used'),
        sa.Index(
            'allocations_resource_provider_class_used_idx',
            'resource_provider_id',
            'resource_class_id',
            'used',
        ),
        sa.Index('allocations_resource_class_id_idx', 'resource_class_id'),
        sa.Index('allocations_consumer_id_idx', 'consumer_id'),
    )
    create_numbered_table(
        'consumers',
        sa.Column('uuid', sa.String(36), nullable=False),
        integer('project_id'),
        integer('user_id'),
        sa.Column('generation', sa.Integer, server_default=sa.text('0'), nullable=False),
        sa.Index('consumers_project_id_uuid_idx', 'project_id', 'uuid'),
        sa.Index('consumers_project_id_user_id_uuid_idx', 'project_id', 'user_id', 'uuid'),
        sa.UniqueConstraint('uuid', name='uniq_consumers0uuid'),
    )
    for name in ('projects', 'users'):
        create_names(name, sa.Column('external_id', sa.String(255), nullable=False))


def create_provider_tables() -> None:
    create_numbered_table(
        'resource_providers',
        sa.Column('uuid', sa.String(36), nullable=False),
        sa.Column('name', sa.Unicode(200), nullable=True),
        integer('generation', nullable=True),
        integer('root_provider_id', nullable=True),
        integer('parent_provider_id', nullable=True),
        # MySQL numbers foreign keys without a name, so that their order is part of the schema.
        sa.ForeignKeyConstraint(['parent_provider_id'], ['resource_providers.id']),
        sa.ForeignKeyConstraint(['root_provider_id'], ['resource_providers.id']),
        sa.UniqueConstraint('uuid', name='uniq_resource_providers0uuid'),
        sa.UniqueConstraint('name', name='uniq_resource_providers0name'),
        sa.Index('resource_providers_name_idx', 'name'),
        sa.Index('resource_providers_uuid_idx', 'uuid'),
        sa.Index('resource_providers_root_provider_id_idx', 'root_provider_id'),
        sa.Index('resource_providers_parent_provider_id_idx', 'parent_provider_id'),
    )


def create_trait_tables() -> None:
    create_names('traits', sa.Column('name', sa.Unicode(255), nullable=False))
    create_table(
        'resource_provider_traits',
        # Without autoincrement=False MySQL would number the first part of a compound key.
        sa.Column('trait_id', sa.Integer, primary_key=True, autoincrement=False),
        sa.Column('resource_provider_id', sa.Integer, primary_key=True, autoincrement=False),
        sa.ForeignKeyConstraint(['resource_provider_id'], ['resource_providers.id']),
        sa.ForeignKeyConstraint(['trait_id'], ['traits.id']),
        sa.Index(
            'resource_provider_traits_resource_provider_trait_idx',
            'resource_provider_id',
            'trait_id',
        ),
    )


def create_aggregate_tables() -> None:
    create_names(
        'placement_aggregates',
        sa.Column('uuid', sa.String(36), nullable=True),
        sa.Index('ix_placement_aggregates_uuid', 'uuid'),
    )
    create_table(
        'resource_provider_aggregates',
        sa.Column('resource_provider_id', sa.Integer, primary_key=True, autoincrement=False),
        sa.Column('aggregate_id', sa.Integer, primary_key=True, autoincrement=False),
        sa.Index('resource_provider_aggregates_aggregate_id_idx', 'aggregate_id'),
    )
