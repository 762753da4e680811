# SPDX-License-Identifier: Apache-2.0
"""Requests for allocation candidates (specification: allocation_candidates, "Request grammar")."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from urllib import parse

from placement_report_client.microversions import Feature

Parameter = tuple[str, str]


@dataclasses.dataclass(frozen=True)
class RequestGroup:
    """A request group: resources, traits and aggregates that are satisfied together.

    ``any_of`` and ``member_of`` hold alternatives: one trait, one aggregate of *every* list.
    ``in_tree`` is the uuid of any provider of the wanted tree.
    """

    resources: Mapping[str, int] = dataclasses.field(default_factory=dict)
    required: Collection[str] = ()
    any_of: Collection[Collection[str]] = ()
    forbidden: Collection[str] = ()
    member_of: Collection[Collection[str]] = ()
    forbidden_aggregates: Collection[str] = ()
    in_tree: str | None = None

    def parameters(self, suffix: str) -> Iterator[Parameter]:
        """The group as parameters of the query string."""
        if self.resources:
            amounts = ','.join(f'{name}:{amount}' for name, amount in self.resources.items())
            yield f'resources{suffix}', amounts
        traits = _with_forbidden(self.required, self.forbidden)
        if traits:
            yield f'required{suffix}', traits
        for names in self.any_of:
            yield f'required{suffix}', f'in:{",".join(names)}'
        for aggregates in self.member_of:
            yield f'member_of{suffix}', f'in:{",".join(aggregates)}'
        if self.forbidden_aggregates:
            yield f'member_of{suffix}', f'!in:{",".join(self.forbidden_aggregates)}'
        if self.in_tree is not None:
            yield f'in_tree{suffix}', self.in_tree

    def needs(self) -> Iterator[Feature]:
        """The features that the service has to support for this group."""
        uses = {
            Feature.CANDIDATE_TRAITS: self.required or self.forbidden,
            Feature.FORBIDDEN_TRAITS: self.forbidden,
            Feature.ANY_TRAIT: self.any_of,
            Feature.MEMBER_OF: self.member_of,
            Feature.MEMBER_OF_SEVERAL: len(self.member_of) > 1,
            Feature.FORBIDDEN_AGGREGATES: self.forbidden_aggregates,
            Feature.IN_TREE: self.in_tree is not None,
        }
        return (feature for feature, is_used in uses.items() if is_used)


@dataclasses.dataclass(frozen=True)
class CandidateRequest:
    """A request for candidates: groups by suffix.

    Several providers of a tree may serve the group ``''``; every other group is served by one
    provider.  A suffix is written as it is sent: ``1``, ``_NET``.  ``isolate`` demands different
    providers for these groups; each element of ``same_subtree`` names groups of whose providers
    one is an ancestor of the others.
    """

    groups: Mapping[str, RequestGroup]
    isolate: bool = False
    same_subtree: Collection[Collection[str]] = ()
    root_required: Collection[str] = ()
    root_forbidden: Collection[str] = ()
    limit: int | None = None

    def query(self) -> str:
        """The request as a query string."""
        return parse.urlencode(list(self._parameters()), safe=':,!')

    def needs(self) -> frozenset[Feature]:
        """The features that the service has to support for this request."""
        suffixes = self._suffixes()
        uses = {
            Feature.CANDIDATES: True,
            Feature.GROUPS: suffixes,
            Feature.NAMED_GROUPS: not all(_is_number(suffix) for suffix in suffixes),
            Feature.SAME_SUBTREE: self.same_subtree,
            Feature.ROOT_TRAITS: self.root_required or self.root_forbidden,
            Feature.LIMIT: self.limit is not None,
        }
        needed = {feature for feature, is_used in uses.items() if is_used}
        return frozenset(needed.union(*(group.needs() for group in self.groups.values())))

    def _parameters(self) -> Iterator[Parameter]:
        for suffix, group in self.groups.items():
            yield from group.parameters(suffix)
        if len(self._suffixes()) > 1:
            yield 'group_policy', 'isolate' if self.isolate else 'none'
        for suffixes in self.same_subtree:
            yield 'same_subtree', ','.join(suffixes)
        traits = _with_forbidden(self.root_required, self.root_forbidden)
        if traits:
            yield 'root_required', traits
        if self.limit is not None:
            yield 'limit', str(self.limit)

    def _suffixes(self) -> list[str]:
        return [suffix for suffix in self.groups if suffix]


def _is_number(suffix: str) -> bool:
    return suffix.isascii() and suffix.isdecimal() and not suffix.startswith('0')


def _with_forbidden(required: Collection[str], forbidden: Collection[str]) -> str:
    return ','.join([*required, *(f'!{name}' for name in forbidden)])
