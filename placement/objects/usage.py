# SPDX-License-Identifier: Apache-2.0
"""Sums of what is taken (specification: usages)."""

from __future__ import annotations

from typing import Self

from oslo_versionedobjects import fields

from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import inventories
from placement.db.statements import usages as statements
from placement.objects import base
from placement.objects.resource_provider import ResourceProvider


@base.register
class Usage(base.PlacementObject):
    """How much of one resource class is taken by consumers of one type."""

    # Version 1.0: Initial version
    VERSION = '1.0'

    fields = {
        'resource_class': fields.StringField(),
        'used': fields.NonNegativeIntegerField(),
        'consumer_type': fields.StringField(nullable=True),
        'consumer_count': fields.NonNegativeIntegerField(),
    }

    resource_class: str
    used: int
    consumer_type: str | None
    consumer_count: int


@base.register
class UsageList(base.PlacementObjectList):
    """Several usages."""

    # Version 1.0: Initial version
    VERSION = '1.0'

    ELEMENT = Usage

    fields = {'objects': fields.ListOfObjectsField('Usage')}

    @classmethod
    @db.reader
    def get_by_project(cls, context: RequestContext, project_id: str, user_id: str | None) -> Self:
        """The usage of the consumers of a project, or of one user, by type and class."""
        counts = statements.count_consumers(context.connection, project_id, user_id)
        rows = statements.list_by_project(context.connection, project_id, user_id)
        usages = [
            Usage(context, consumer_count=counts.get(row.consumer_type, 0), **row._mapping)
            for row in rows
        ]
        return cls(context, objects=usages)

    @classmethod
    @db.reader
    def list_by_provider(cls, context: RequestContext, provider: ResourceProvider) -> Self:
        """The usage of each class that a provider has inventory of, whatever the consumers."""
        return cls.from_rows(
            context, inventories.list_with_usage(context.connection, [provider.id])
        )
