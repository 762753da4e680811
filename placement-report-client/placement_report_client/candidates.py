# SPDX-License-Identifier: Apache-2.0
"""Searches allocation candidates (specification: allocation_candidates, "Response")."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from placement_report_client.allocations import Amounts, parse_amounts
from placement_report_client.candidate_request import CandidateRequest
from placement_report_client.session import Request, Session


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One allocation candidate, which can be claimed.

    ``mappings`` holds the uuids of the providers that serve each group, by its suffix; it is empty
    when the service is older than 1.34.
    """

    amounts: Amounts
    mappings: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Stock:
    """The capacity and the usage of one resource class of a provider."""

    capacity: int
    used: int


@dataclasses.dataclass(frozen=True)
class ProviderSummary:
    """The summary of a provider, by which a scheduler ranks candidates.

    Parent and root are None when the service is too old to show them.
    """

    stocks: Mapping[str, Stock]
    traits: frozenset[str]
    parent: str | None
    root: str | None


@dataclasses.dataclass(frozen=True)
class Candidates:
    """Candidates in the order of the service, and summaries of their providers by uuid."""

    found: tuple[Candidate, ...]
    summaries: Mapping[str, ProviderSummary]

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)


def find_candidates(session: Session, request: CandidateRequest) -> Candidates:
    """The allocation candidates of the request; there may be none, and nothing is reserved.

    :raises errors.Refused: the request names an unknown trait or class, or is malformed
    :raises errors.TooOld: the service does not support a part of the request
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
