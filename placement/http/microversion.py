# SPDX-License-Identifier: Apache-2.0
"""Microversions: from the changes of a history, one frozen `Api` per version.

`placement.microversions` declares the changes; this module folds them.
"""

import dataclasses
import enum
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import microversion_parse

from placement import errors
from placement.http.reply import Reply
from placement.http.validation import Validator
from placement.schemas.common import Schema

SERVICE_TYPE = 'placement'
LATEST = 'latest'

Upgrade = Callable[[Any], Any]
Downgrade = Callable[[Reply], Reply]
Handler = Callable[[Any], Reply]


class Rule(enum.Enum):
    """A change of behaviour that is neither a route nor the shape of a body."""

    CACHE_HEADERS = 'responses have last-modified and cache-control'
    FORBIDDEN_TRAITS = 'a trait may be forbidden with !'
    ERROR_CODES = 'errors carry a code'
    REPEATED_MEMBER_OF = 'member_of may be given more than once'
    SUMMARIES_OF_ALL_CLASSES = 'summaries show every class that a provider has'
    SEVERAL_PROVIDERS_OF_A_TREE = 'a candidate may combine several providers of one tree'
    GROUPS_WITHOUT_RESOURCES = 'a request group may have no resources'
    FULLY_RESERVED_INVENTORY = 'an inventory may be reserved in full'
    FORBIDDEN_AGGREGATES = 'an aggregate may be forbidden with !'
    REPARENTING = 'a parent may be changed and removed'
    ANY_TRAITS = 'required may ask for any of several traits, and be given more than once'


@dataclasses.dataclass(frozen=True, slots=True)
class Microversion:
    """One microversion: what it introduced, and how older clients are still served.

    `serves` maps actions to their handlers from this version on, `accepts` and `queries` to the
    schemas of bodies and query strings. `upgrades` turn a body of the version before into one of
    this version, `downgrades` a reply of this version into one of the version before. `enables`
    names rules.
    """

    version: str
    summary: str
    serves: Mapping[str, Handler] = dataclasses.field(default_factory=dict)
    accepts: Mapping[str, Schema | None] = dataclasses.field(default_factory=dict)
    queries: Mapping[str, Schema] = dataclasses.field(default_factory=dict)
    upgrades: Mapping[str, Upgrade] = dataclasses.field(default_factory=dict)
    downgrades: Mapping[str, Downgrade] = dataclasses.field(default_factory=dict)
    enables: Collection[Rule] = ()


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Api:
    """The whole API as one microversion shows it. There is one of each version.

    `introduced` has, for every rule of any version, the version that introduced it;
    `oldest` and `newest` are the bounds of the history.
    """

    version: microversion_parse.Version
    handlers: Mapping[str, Handler]
    bodies: Mapping[str, Validator]
    queries: Mapping[str, Validator]
    upgrades: Mapping[str, tuple[Upgrade, ...]]
    downgrades: Mapping[str, tuple[Downgrade, ...]]
    rules: frozenset[Rule]
    introduced: Mapping[Rule, str]
    oldest: str
    newest: str

    def allows(self, rule: Rule) -> bool:
        """Test whether this version has the behaviour of a rule."""
        return rule in self.rules

    def shows_newest(self, action: str) -> bool:
        """Test whether replies of an action have the newest shape at this version."""
        return action not in self.downgrades

    def upgraded(self, action: str, body: Any) -> Any:
        """A body of this version in the newest shape."""
        for upgrade in self.upgrades.get(action, ()):
            body = upgrade(body)
        return body

    def downgraded(self, action: str, reply: Reply) -> Reply:
        """A reply of the newest shape in the shape of this version."""
        for downgrade in self.downgrades.get(action, ()):
            reply = downgrade(reply)
        return reply


Apis = dict[tuple[int, int], Api]


def fold(history: Iterable[Microversion]) -> Apis:
    """One `Api` for every version of a history, oldest first."""
    changes = tuple(history)
    handlers: dict[str, Handler] = {}
    bodies: dict[str, Validator] = {}
    queries: dict[str, Validator] = {}
    rules: frozenset[Rule] = frozenset()
    introduced = {rule: change.version for change in changes for rule in change.enables}
    apis: Apis = {}

    for position, change in enumerate(changes):
        handlers = handlers | dict(change.serves)
        bodies = bodies | {
            action: Validator(schema) for action, schema in change.accepts.items() if schema
        }
        for action in (action for action, schema in change.accepts.items() if schema is None):
            del bodies[action]
        queries = queries | {
            action: Validator(schema, is_query=True) for action, schema in change.queries.items()
        }
        rules = rules | frozenset(change.enables)
        later = changes[position + 1 :]
        version = microversion_parse.parse_version_string(change.version)
        apis[version] = Api(
            version=version,
            handlers=MappingProxyType(handlers),
            bodies=MappingProxyType(bodies),
            queries=MappingProxyType(queries),
            upgrades=_gathered(c.upgrades for c in later),
            downgrades=_gathered(c.downgrades for c in reversed(later)),
            rules=rules,
            introduced=introduced,
            oldest=changes[0].version,
            newest=changes[-1].version,
        )
    return apis


def _gathered(steps: Iterable[Mapping[str, Any]]) -> Mapping[str, tuple[Any, ...]]:
    """The steps of each action, in the order given."""
    gathered: dict[str, tuple[Any, ...]] = {}
    for step in steps:
        for action, function in step.items():
            gathered[action] = (*gathered.get(action, ()), function)
    return MappingProxyType(gathered)


def negotiated(apis: Apis, header: str | None, otherwise: str | None = None) -> Api:
    """The version that `OpenStack-API-Version` asks for.

    When it asks for none that is `otherwise`, by default the oldest.

    Raises `errors.InvalidVersion` and `errors.UnacceptableVersion` (specification: http,
    "Microversions").
    """
    wanted: str | None = microversion_parse.get_version(
        {microversion_parse.STANDARD_HEADER: header or ''}, service_type=SERVICE_TYPE
    )
    oldest = next(iter(apis.values()))
    if wanted is None:
        wanted = otherwise or oldest.oldest
    if wanted == LATEST:
        return apis[next(reversed(apis))]
    try:
        version = microversion_parse.parse_version_string(wanted)
    except (TypeError, ValueError):
        raise errors.InvalidVersion(version=wanted) from None
    if version not in apis:
        raise errors.UnacceptableVersion(
            wanted, min_version=oldest.oldest, max_version=oldest.newest
        )
    return apis[version]
