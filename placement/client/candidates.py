# SPDX-License-Identifier: Apache-2.0
"""Where a request could be satisfied (specification: allocation_candidates, "Response")."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from placement.client.allocations import Amounts, parse_amounts
from placement.client.candidate_request import CandidateRequest
from placement.client.session import Request, Session


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One way to satisfy a request, which can be claimed.

    ``mappings`` says which providers serve which group, by the suffix of the group; it is empty
    when the service is too old to tell.
    """

    amounts: Amounts
    mappings: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Stock:
    """How much of one resource class a provider can give in all, and how much it has given."""

    capacity: int
    used: int


@dataclasses.dataclass(frozen=True)
class ProviderSummary:
    """What a scheduler needs to know about a provider in order to choose.

    A service that knows no trees in candidates names no parent and no root.
    """

    stocks: Mapping[str, Stock]
    traits: frozenset[str]
    parent: str | None
    root: str | None


@dataclasses.dataclass(frozen=True)
class Candidates:
    """The ways to satisfy a request, in the order of the service, and the providers involved."""

    found: tuple[Candidate, ...]
    summaries: Mapping[str, ProviderSummary]

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)


def find_candidates(session: Session, request: CandidateRequest) -> Candidates:
    """The ways to satisfy the request at present; none is no error, and nothing is reserved.

    :raises errors.Refused: it names an unknown trait or class, or makes no sense
    :raises errors.TooOld: it needs what the service does not know
    """
    path = f'/allocation_candidates?{request.query()}'
    body = session.send(Request('GET', path, request.needs())).body()
    return Candidates(
        tuple(_parse_candidate(shown) for shown in body['allocation_requests']),
        {uuid: _parse_summary(shown) for uuid, shown in body['provider_summaries'].items()},
    )


def _parse_candidate(shown: Mapping[str, Any]) -> Candidate:
    mappings = shown.get('mappings', {})
    return Candidate(
        parse_amounts(shown['allocations']),
        {suffix: tuple(providers) for suffix, providers in mappings.items()},
    )


def _parse_summary(shown: Mapping[str, Any]) -> ProviderSummary:
    stocks = {name: Stock(**stock) for name, stock in shown['resources'].items()}
    return ProviderSummary(
        stocks,
        frozenset(shown.get('traits', ())),
        shown.get('parent_provider_uuid'),
        shown.get('root_provider_uuid'),
    )
