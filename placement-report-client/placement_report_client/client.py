# SPDX-License-Identifier: Apache-2.0
"""The public class of the report client: one method for each operation."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable

from keystoneauth1 import adapter

from placement_report_client import allocations, candidates, claims, names, trees
from placement_report_client.allocations import Allocations, Consumer
from placement_report_client.candidate_request import CandidateRequest
from placement_report_client.candidates import Candidate, Candidates
from placement_report_client.connection import Connection
from placement_report_client.microversions import Microversion
from placement_report_client.provider import Provider
from placement_report_client.retry_policy import Deadline, RetryPolicy
from placement_report_client.session import Session


class ReportClient:
    """A client of one placement service; threads may share it.

    The adapter of keystoneauth1 authenticates and finds the endpoint.  Every method may raise
    `errors.Unreachable`, `errors.Refused` and `errors.TooOld`; other errors are listed with the
    method (specification: clients).
    """

    def __init__(self, adapter: adapter.Adapter, retry_policy: RetryPolicy | None = None) -> None:
        self._connection = Connection(adapter)
        self._retry_policy = retry_policy or RetryPolicy()
        self._deadline: Deadline | None = None

    def within(self, seconds: float) -> ReportClient:
        """A copy of this client with one deadline for all of its calls, in seconds from now.

        After it, calls raise `errors.OutOfTime`, or the last error that made them retry.
        """
        limited = copy.copy(self)
        limited._deadline = Deadline(seconds)
        return limited

    def microversion(self) -> Microversion:
        """The newest microversion that client and service support."""
        return self._session().version()

    def ensure_resource_class(self, name: str) -> None:
        """Create the resource class unless it exists, in one request.

        :raises errors.Conflict: concurrent writes prevented it at every attempt
        :raises errors.Gone: it is a standard class that the service does not have
        """
        names.ensure_resource_class(self._session(), name)

    def ensure_traits(self, traits: Iterable[str]) -> None:
        """Create the traits that do not exist: one request to compare, and one for each missing.

        :raises errors.Conflict: concurrent writes prevented it at every attempt
        :raises errors.Gone: one is a standard trait that the service does not have
        """
        names.ensure_traits(self._session(), traits)

    def ensure_tree(self, provider: Provider, parent: str | None = None) -> None:
        """Make a provider and its descendants equal to the given tree; only differences are sent.

        ``parent`` is the uuid of the top provider's parent; None leaves its parent unchanged.

        :raises errors.Conflict: concurrent writes to a provider prevented it at every attempt
        :raises errors.Gone: the parent, a standard trait or a standard class does not exist
        :raises errors.InUse: a resource class to be removed has allocations
        :raises errors.NameTaken: another provider has one of the names
        """
        trees.ensure_tree(self._session(), provider, parent)

    def delete_provider(self, uuid: str) -> bool:
        """Delete the provider if it exists; whether it did.

        :raises errors.Conflict: concurrent writes prevented it at every attempt
        :raises errors.InUse: it has children or allocations
        """
        return trees.delete_provider(self._session(), uuid)

    def find_candidates(self, request: CandidateRequest) -> Candidates:
        """The allocation candidates of the request; there may be none."""
        return candidates.find_candidates(self._session(), request)

    def claim(self, consumer: Consumer, candidate: Candidate) -> None:
        """Claim a candidate for a new consumer.

        :raises errors.Conflict: the consumer has allocations already
        :raises errors.Gone: a provider of the candidate was deleted
        :raises errors.NoCapacity: other claims have taken the capacity
        """
        claims.claim(self._session(), consumer, candidate)

    def claim_any(self, consumer: Consumer, candidates: Iterable[Candidate]) -> Candidate:
        """Claim the first candidate that still fits for a new consumer; that candidate.

        :raises errors.Conflict: the consumer has allocations already
        :raises errors.NoCapacity: none fits any more
        """
        return claims.claim_any(self._session(), consumer, candidates)

    def find_allocations(self, consumer: str) -> Allocations | None:
        """The allocations of the consumer; None when it has none."""
        return allocations.find(self._session(), consumer)

    def change_allocations(
        self, consumer: str, edit: Callable[[Allocations], Allocations]
    ) -> None:
        """Replace the allocations of the consumer by what ``edit`` returns for them.

        After a concurrent write ``edit`` is called again with the new allocations.

        :raises errors.Conflict: concurrent writes to the consumer prevented it at every attempt
        :raises errors.Gone: the consumer has no allocations, or a provider does not exist
        :raises errors.NoCapacity: the new allocations do not fit
        """
        allocations.change(self._session(), consumer, edit)

    def move(self, instance: str, migration: str, candidate: Candidate) -> None:
        """Give the instance's allocations to the migration, and the candidate to the instance.

        :raises errors.Conflict: the migration has allocations, or the instance is being written
        :raises errors.Gone: the instance has no allocations, or a provider was deleted
        :raises errors.NoCapacity: other claims have taken the capacity
        """
        claims.move(self._session(), instance, migration, candidate)

    def confirm(self, migration: str) -> bool:
        """Release the source of a move; whether the migration had allocations.

        :raises errors.Conflict: concurrent writes prevented it at every attempt
        """
        return claims.release(self._session(), migration)

    def revert(self, instance: str, migration: str) -> None:
        """Give the migration's allocations back to the instance, and release the destination.

        :raises errors.Conflict: one of the two is being written
        :raises errors.Gone: one of the two has no allocations
        """
        claims.revert(self._session(), instance, migration)

    def release(self, consumer: str) -> bool:
        """Remove all allocations of the consumer; whether it had any.

        :raises errors.Conflict: concurrent writes prevented it at every attempt
        """
        return claims.release(self._session(), consumer)

    def _session(self) -> Session:
        deadline = self._deadline or Deadline(self._retry_policy.call_timeout)
        return Session(self._connection, self._retry_policy, deadline)
