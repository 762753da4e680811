# SPDX-License-Identifier: Apache-2.0
"""Who uses resources (specification: allocations).

There is no way to make a consumer on its own: it comes with its allocations, in one transaction
(`placement.objects.allocation`).
"""

from oslo_versionedobjects import fields

from placement.objects import base


@base.register
class Consumer(base.PlacementObject):
    """Whoever uses resources.

    `project_id` and `user_id` are the ids of Keystone. `consumer_type` is None where none is
    recorded.
    """

    # Version 1.0: Initial version
    VERSION = '1.0'

    fields = {
        'id': fields.IntegerField(),
        'uuid': fields.StringField(),
        'generation': fields.IntegerField(),
        'project_id': fields.StringField(),
        'user_id': fields.StringField(),
        'consumer_type': fields.StringField(nullable=True),
    }

    id: int
    uuid: str
    generation: int
    project_id: str
    user_id: str
    consumer_type: str | None
