# SPDX-License-Identifier: Apache-2.0
"""The upstream tables, for SQLAlchemy Core (specification: data_model, "Tables").

The migrations create them; a test compares the migrated schema with these definitions.
"""

import datetime
import time

import sqlalchemy as sa


def utcnow() -> datetime.datetime:
    """Return the time in UTC, without time zone and in whole seconds, as DATETIME columns are."""
    return datetime.datetime(*time.gmtime()[:6])


metadata = sa.MetaData()


def _table(name: str, *columns: sa.schema.SchemaItem) -> sa.Table:
    """Return a table with the two timestamps of every table, which the statements set."""
    return sa.Table(
        name,
        metadata,
        sa.Column('created_at', sa.DateTime, default=utcnow),
        sa.Column('updated_at', sa.DateTime, onupdate=utcnow),
        *columns,
    )


def _numbered_table(name: str, *columns: sa.schema.SchemaItem) -> sa.Table:
    """Return a table with the timestamps, and ids."""
    return _table(name, sa.Column('id', sa.Integer, primary_key=True), *columns)


resource_providers = _numbered_table(
    'resource_providers',
    sa.Column('uuid', sa.String(36), nullable=False),
    sa.Column('name', sa.Unicode(200), nullable=True),
    sa.Column('generation', sa.Integer, default=0),
    sa.Column('root_provider_id', sa.Integer, sa.ForeignKey('resource_providers.id')),
    sa.Column('parent_provider_id', sa.Integer, sa.ForeignKey('resource_providers.id')),
    sa.UniqueConstraint('uuid', name='uniq_resource_providers0uuid'),
    sa.UniqueConstraint('name', name='uniq_resource_providers0name'),
    sa.Index('resource_providers_root_provider_id_idx', 'root_provider_id'),
    sa.Index('resource_providers_parent_provider_id_idx', 'parent_provider_id'),
)

inventories = _numbered_table(
    'inventories',
    sa.Column('resource_provider_id', sa.Integer, nullable=False),
    sa.Column('resource_class_id', sa.Integer, nullable=False),
    sa.Column('total', sa.Integer, nullable=False),
    sa.Column('reserved', sa.Integer, nullable=False),
    sa.Column('min_unit', sa.Integer, nullable=False),
    sa.Column('max_unit', sa.Integer, nullable=False),
    sa.Column('step_size', sa.Integer, nullable=False),
    sa.Column('allocation_ratio', sa.Float, nullable=False),
    sa.Index('inventories_resource_class_id_idx', 'resource_class_id'),
    sa.UniqueConstraint(
        'resource_provider_id',
        'resource_class_id',
        name='uniq_inventories0resource_provider_resource_class',
    ),
)

allocations = _numbered_table(
    'allocations',
    sa.Column('resource_provider_id', sa.Integer, nullable=False),
    sa.Column('consumer_id', sa.String(36), nullable=False),
    sa.Column('resource_class_id', sa.Integer, nullable=False),
    sa.Column('used', sa.Integer, nullable=False),
    sa.Index(
        'allocations_resource_provider_class_used_idx',
        'resource_provider_id',
        'resource_class_id',
        'used',
    ),
    sa.Index('allocations_resource_class_id_idx', 'resource_class_id'),
    sa.Index('allocations_consumer_id_idx', 'consumer_id'),
)

consumers = _numbered_table(
    'consumers',
    sa.Column('uuid', sa.String(36), nullable=False),
    sa.Column('project_id', sa.Integer, nullable=False),
    sa.Column('user_id', sa.Integer, nullable=False),
    sa.Column('generation', sa.Integer, nullable=False, server_default=sa.text('0'), default=0),
    sa.Column(
        'consumer_type_id',
        sa.Integer,
        sa.ForeignKey('consumer_types.id', name='consumers_consumer_type_id_fkey'),
        nullable=True,
    ),
    sa.Index('consumers_project_id_uuid_idx', 'project_id', 'uuid'),
    sa.Index('consumers_project_id_user_id_uuid_idx', 'project_id', 'user_id', 'uuid'),
    sa.Index('consumers_consumer_type_id_idx', 'consumer_type_id'),
    sa.UniqueConstraint('uuid', name='uniq_consumers0uuid'),
)


def _names(table: str, column: sa.Column[str]) -> sa.Table:
    """Return a table of unique names, or uuids, with their ids."""
    unique = sa.UniqueConstraint(column.name, name=f'uniq_{table}0{column.name}')
    return _numbered_table(table, column, unique)


projects = _names('projects', sa.Column('external_id', sa.String(255), nullable=False))
users = _names('users', sa.Column('external_id', sa.String(255), nullable=False))
consumer_types = _names('consumer_types', sa.Column('name', sa.Unicode(255), nullable=False))
# The service assigns the ids of classes, from 0. The column is nevertheless auto-incrementing in
# existing databases.
resource_classes = _names('resource_classes', sa.Column('name', sa.String(255), nullable=False))
traits = _names('traits', sa.Column('name', sa.Unicode(255), nullable=False))
placement_aggregates = _names('placement_aggregates', sa.Column('uuid', sa.String(36)))

resource_provider_traits = _table(
    'resource_provider_traits',
    sa.Column('trait_id', sa.Integer, sa.ForeignKey('traits.id'), primary_key=True),
    sa.Column(
        'resource_provider_id',
        sa.Integer,
        sa.ForeignKey('resource_providers.id'),
        primary_key=True,
    ),
    sa.Index(
        'resource_provider_traits_resource_provider_trait_idx',
        'resource_provider_id',
        'trait_id',
    ),
)

resource_provider_aggregates = _table(
    'resource_provider_aggregates',
    sa.Column('resource_provider_id', sa.Integer, primary_key=True),
    sa.Column('aggregate_id', sa.Integer, primary_key=True),
    sa.Index('resource_provider_aggregates_aggregate_id_idx', 'aggregate_id'),
)
