# SPDX-License-Identifier: Apache-2.0
"""Sums of what is taken (specification: usages)."""

from __future__ import annotations

import collections
from typing import Self

from oslo_versionedobjects import fields

from placement.context import RequestContext
from placement.db.engine import transactions as db
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
    def get_by_project(
        cls, context: RequestContext, project_id: str, user_id: str | None
    ) -> UsageList:
        """The usage of the consumers of a project, or of one user, by type and class."""
        counts = statements.count_consumers(context.connection, project_id, user_id)
        rows = statements.list_by_project(context.connection, project_id, user_id)
        return cls(
            context,
            objects=[
                Usage(
                    context,
                    resource_class=row.resource_class,
                    used=row.used,
                    consumer_type=row.consumer_type,
                    consumer_count=counts.get(row.consumer_type, 0),
                )
                for row in rows
            ],
        )

    @classmethod
    @db.reader
    def list_by_provider(cls, context: RequestContext, provider: ResourceProvider) -> Self:
        """The usage of each class that a provider has inventory of, whatever the consumers."""
        return cls.from_rows(context, statements.list_by_provider(context.connection, provider.id))

    def of_type(self, consumer_type: str | None) -> UsageList:
        """Those of one type of consumer; None stands for consumers without type."""
        return UsageList(
            self._context,
            objects=[usage for usage in self.objects if usage.consumer_type == consumer_type],
        )

    def under_one_type(self, consumer_type: str) -> UsageList:
        """The sums over all types, as if all consumers were of one."""
        counts = {usage.consumer_type: usage.consumer_count for usage in self.objects}
        sums: collections.Counter[str] = collections.Counter()
        for usage in self.objects:
            sums[usage.resource_class] += usage.used
        return UsageList(
            self._context,
            objects=[
                Usage(
                    self._context,
                    resource_class=resource_class,
                    used=used,
                    consumer_type=consumer_type,
                    consumer_count=sum(counts.values()),
                )
                for resource_class, used in sums.items()
            ],
        )
