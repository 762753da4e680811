# SPDX-License-Identifier: Apache-2.0
"""Sums of what is taken (specification: usages)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

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

    fields = {'objects': fields.ListOfObjectsField('Usage')}

    @classmethod
    @db.reader
    def get_by_project(
        cls, context: RequestContext, project_id: str, user_id: str | None
    ) -> UsageList:
        """What the consumers of a project use, or those of one user, by type and class."""
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

    def of_type(self, consumer_type: str | None) -> UsageList:
        """Those of one type of consumer; None stands for consumers without type."""
        return UsageList(
            self._context,
            objects=[usage for usage in self.objects if usage.consumer_type == consumer_type],
        )

    def under_one_type(self, consumer_type: str) -> UsageList:
        """The sums over all types, as if all consumers were of one."""
        counts = {usage.consumer_type: usage.consumer_count for usage in self.objects}
        total = sum(counts.values())
        return UsageList(
            self._context,
            objects=[
                Usage(
                    self._context,
                    resource_class=resource_class,
                    used=used,
                    consumer_type=consumer_type,
                    consumer_count=total,
                )
                for resource_class, used in _sums(self.objects).items()
            ],
        )


@db.reader
def list_by_provider(context: RequestContext, provider: ResourceProvider) -> Sequence[db.Row]:
    """The rows of what is used of each class that a provider has inventory of."""
    return statements.list_by_provider(context.connection, provider.id)


def _sums(usages: Iterable[Any]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for usage in usages:
        sums[usage.resource_class] = sums.get(usage.resource_class, 0) + usage.used
    return sums
