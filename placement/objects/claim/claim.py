# SPDX-License-Identifier: Apache-2.0
"""What one consumer is to have."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from placement.db.statements.owners import Owner
from placement.schemas.not_sent import NOT_SENT, NotSent

Resources = Mapping[str, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """Everything that one consumer is to have, in place of what it has.

    `resources` are amounts by the uuid of the provider and the name of the class; without any the
    consumer is to have nothing. Any generation suits one that was not sent; a type that was not
    sent stays what it is.
    """

    consumer_uuid: str
    resources: Mapping[str, Resources]
    project_id: str
    user_id: str
    generation: int | NotSent | None
    consumer_type: str | NotSent

    @classmethod
    def from_body(
        cls,
        consumer_uuid: str,
        body: Mapping[str, Any],
        incomplete_project: str,
        incomplete_user: str,
    ) -> Claim:
        """The claim that a client describes; a client that sends no owner means the incomplete."""
        project_id, user_id = body['project_id'], body['user_id']
        return cls(
            consumer_uuid=consumer_uuid,
            resources={
                uuid: allocation['resources'] for uuid, allocation in body['allocations'].items()
            },
            project_id=incomplete_project if project_id is NOT_SENT else project_id,
            user_id=incomplete_user if user_id is NOT_SENT else user_id,
            generation=body['consumer_generation'],
            consumer_type=body['consumer_type'],
        )

    @property
    def is_of_new_consumer(self) -> bool:
        """Whether the client says that there is no such consumer yet, and it is to have some."""
        return self.generation is None and bool(self.resources)

    @property
    def owner(self) -> Owner:
        """The project, user and type that the consumer is to have."""
        consumer_type = None if self.consumer_type is NOT_SENT else self.consumer_type
        return Owner(self.project_id, self.user_id, consumer_type)

    def of(self, consumer_uuid: str) -> Claim:
        """The same for a consumer of this uuid."""
        if consumer_uuid == self.consumer_uuid:
            return self
        return dataclasses.replace(self, consumer_uuid=consumer_uuid)


class Amount(NamedTuple):
    """So much of one class of one provider, for one consumer."""

    consumer_uuid: str
    provider_uuid: str
    resource_class: str
    amount: int


def amounts(claims: Sequence[Claim]) -> Iterator[Amount]:
    """Every amount of some claims, in their order."""
    for claim in claims:
        for provider_uuid, resources in claim.resources.items():
            for resource_class, amount in resources.items():
                yield Amount(claim.consumer_uuid, provider_uuid, resource_class, amount)


def named_providers(claims: Sequence[Claim]) -> list[str]:
    """The uuids of the providers from which claims take something, each once."""
    return list(dict.fromkeys(uuid for claim in claims for uuid in claim.resources))


def released_consumers(claims: Sequence[Claim]) -> list[str]:
    """The uuids of the consumers that are to have nothing."""
    return [claim.consumer_uuid for claim in claims if not claim.resources]
