# SPDX-License-Identifier: Apache-2.0
"""Sums of allocations (specification: usages)."""

from __future__ import annotations

from typing import Self

from oslo_versionedobjects import fields

from placement.context import RequestContext
from placement.db.mode import Mode
from placement.db.statements import inventories
from placement.db.statements import usages as statements
from placement.db.transaction import in_transaction
from placement.objects import base
from placement.objects.resource_provider import ResourceProvider


@base.register
class Usage(base.PlacementObject):
    """The amount of one resource class that consumers of one type use."""

    # Version 1.0: Initial version
    # Version 1.1: `used` may be negative, as repairs by hand leave it
    VERSION = '1.1'

    fields = {
        'resource_class': fields.StringField(),
        'used': fields.IntegerField(),
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
    @in_transaction(Mode.READ)
    def get_by_project(cls, context: RequestContext, project_id: str, user_id: str | None) -> Self:
        """The usage of the consumers of a project, or of one user, by type and class."""
        rows = statements.list_by_project(context.connection, project_id, user_id)
        return cls(context, objects=[Usage(context, **row._mapping) for row in rows])

    @classmethod
    @in_transaction(Mode.READ)
    def list_by_provider(cls, context: RequestContext, provider: ResourceProvider) -> Self:
        """The usage of each class that a provider has inventory of, over all consumers."""
        return cls.from_rows(
            context, inventories.list_with_usage(context.connection, [provider.id])
        )
