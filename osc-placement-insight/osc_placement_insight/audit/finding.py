# SPDX-License-Identifier: Apache-2.0
"""The findings of an audit, as values."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping

from osc_placement_insight.audit.model import Allocations, Consumer, Server


class Repair(enum.Enum):
    """The ways in which a repair treats the findings of a kind."""

    ALWAYS = 'always'
    WHEN_NAMED = 'when named'
    NEVER = 'never'

    @property
    def is_possible(self) -> bool:
        """True if a user can request the repair."""
        return self is not Repair.NEVER


class InNova(enum.Enum):
    """The conditions in nova under which a finding is repaired."""

    ANYTHING = 'anything'
    SERVER_IS_GONE = 'server is gone'
    SERVER_IS_THE_SAME = 'server is the same'
    NO_FLAVOR_NAMES_IT = 'no flavor names it'


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """One fault of a cloud.

    `subject` is the uuid or name of the faulty object, and `name` its display name. `words` is the
    message, `remedy` the advice. `consumer` and `server` are their states as read: a repair
    changes nothing if they differ by then. `wanted` are the correct allocations of the consumer;
    None if a repair cannot know them. `provider_names` are by uuid, for all providers in these.
    """

    kind: str
    subject: str
    name: str
    words: str
    remedy: str
    consumer: Consumer | None = None
    server: Server | None = None
    wanted: Allocations | None = None
    provider_names: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def id(self) -> str:
        """An id that is unique within an audit."""
        return f'{self.kind}:{self.subject}'

    @property
    def rests_on(self) -> tuple[str, Consumer | None, Server | None]:
        """The states behind the finding, which another pass has to read again to confirm it.

        Without the kind, which may change: a leak may seem unknown until nova was asked about its
        server by uuid.
        """
        return self.subject, self.consumer, self.server
