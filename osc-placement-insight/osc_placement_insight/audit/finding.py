# SPDX-License-Identifier: Apache-2.0
"""What an audit finds, as values."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping

from osc_placement_insight.audit.model import Allocations, Consumer, Server


class Repair(enum.Enum):
    """Whether a repair removes the findings of a kind."""

    ALWAYS = 'always'
    WHEN_NAMED = 'when named'
    NEVER = 'never'

    @property
    def is_possible(self) -> bool:
        """Whether somebody can ask for it."""
        return self is not Repair.NEVER


class InNova(enum.Enum):
    """What has to be true in nova still when a finding is repaired."""

    ANYTHING = 'anything'
    SERVER_IS_GONE = 'server is gone'
    SERVER_IS_THE_SAME = 'server is the same'
    NO_FLAVOR_NAMES_IT = 'no flavor names it'


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """One fault of a cloud.

    `subject` is the uuid, or the name, of what is wrong, and `name` what people call it. `words`
    say what is wrong, `remedy` what to do. `consumer` and `server` are what was read of them: a
    repair changes nothing where they differ. `wanted` is what the consumer should hold instead;
    None where a repair cannot know. `provider_names` are by uuid, of all providers in these.
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
        """What tells it from every other finding of the same audit."""
        return f'{self.kind}:{self.subject}'

    @property
    def rests_on(self) -> tuple[str, Consumer | None, Server | None]:
        """What was read when it was found; another pass has to read the same to confirm it.

        The kind is none of it: a leak may seem unknown before nova was asked about it by name.
        """
        return self.subject, self.consumer, self.server
