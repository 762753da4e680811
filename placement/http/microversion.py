# SPDX-License-Identifier: Apache-2.0
"""Microversions: from the changes of a history, one frozen `Api` per version.

`placement.microversions` declares the changes; this module folds them.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import microversion_parse

from placement import errors
from placement.http.reply import Handler, JSONPieces, Reply
from placement.http.route import AddedRoute
from placement.http.validation import Validator
from placement.schemas.common import Schema

SERVICE_TYPE = 'placement'
LATEST = 'latest'

Upgrade = Callable[[Any], Any]
Downgrade = Callable[[Reply], Reply]


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
    """One microversion: its changes, and the conversions for older clients.

    The mappings are keyed by action.
    """

    version: str
    # Entry of the changelog.
    summary: str
    # Handlers from this version on.
    serves: Mapping[str, Handler] = dataclasses.field(default_factory=dict)
    # Schemas of bodies and of query strings from this version on.
    accepts: Mapping[str, Schema | None] = dataclasses.field(default_factory=dict)
    queries: Mapping[str, Schema] = dataclasses.field(default_factory=dict)
    # Convert a body of the previous version to this one.
    upgrades: Mapping[str, Upgrade] = dataclasses.field(default_factory=dict)
    # Convert a reply of this version to the previous one.
    downgrades: Mapping[str, Downgrade] = dataclasses.field(default_factory=dict)
    # Changes of behaviour.
    enables: Collection[Rule] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Shape:
    """The shape of the replies of an action at some versions, as its differences from the newest.

    Versions at which an action has the same shape have equal objects.
    """

    downgrades: tuple[Downgrade, ...] = ()

    def downgraded(self, reply: Reply) -> Reply:
        """A reply in the newest shape, converted to this one."""
        for downgrade in self.downgrades:
            reply = downgrade(reply)
        return reply

    def of(self, body: Any) -> Any:
        """A body in the newest shape, converted to this one."""
        return self.downgraded(Reply(body)).body


#: The shape that handlers and views produce.
NEWEST_SHAPE = Shape()


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Api:
    """The whole API at one microversion; one object for each version.

    `introduced` maps every rule to the version that introduced it. `oldest` and `newest` are the
    bounds of the history.
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
        """True if this version has the behaviour of a rule."""
        return rule in self.rules

    def shape(self, action: str) -> Shape:
        """The shape of the replies of an action at this version."""
        return Shape(self.downgrades.get(action, ()))

    def upgraded(self, action: str, body: Any) -> Any:
        """A body of this version, converted to the newest shape."""
        for upgrade in self.upgrades.get(action, ()):
            body = upgrade(body)
        return body

    def downgraded(self, action: str, reply: Reply) -> Reply:
        """A reply in the newest shape, converted to this version.

        `JSONPieces` are in the shape of the version already.
        """
        if isinstance(reply.body, JSONPieces):
            return reply
        return self.shape(action).downgraded(reply)


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


def extended(history: Sequence[Microversion], routes: Sequence[AddedRoute]) -> list[Microversion]:
    """A history with the actions of extensions.

    An action appears with the action of the core that it is like.
    """
    return [_with_added(change, routes) for change in history]


def _with_added(change: Microversion, routes: Sequence[AddedRoute]) -> Microversion:
    new = [route for route in routes if route.like in change.serves]
    queries = {route.action: route.query for route in new if route.query is not None}
    queries |= {
        route.action: route.extends(change.queries[route.like])
        for route in routes
        if route.extends is not None and route.like in change.queries
    }
    bodies = {route.action: route.body for route in new if route.body is not None}
    return dataclasses.replace(
        change,
        serves={**change.serves, **{route.action: route.handler for route in new}},
        accepts={**change.accepts, **bodies},
        queries={**change.queries, **queries},
    )


def _gathered(steps: Iterable[Mapping[str, Any]]) -> Mapping[str, tuple[Any, ...]]:
    """The steps of each action, in the order given."""
    gathered: dict[str, tuple[Any, ...]] = {}
    for step in steps:
        for action, function in step.items():
            gathered[action] = (*gathered.get(action, ()), function)
    return MappingProxyType(gathered)


def negotiated(apis: Apis, header: str | None, otherwise: str | None = None) -> Api:
    """The version that the header `OpenStack-API-Version` requests.

    Without one it is `otherwise`, by default the oldest.

    :raises errors.InvalidVersion: the header names no version
    :raises errors.UnacceptableVersion: the version is not served

    Specification: http, "Microversions".
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
