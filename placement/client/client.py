# SPDX-License-Identifier: Apache-2.0
"""The scheduler report client: all that can be asked of the service, in one place."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable

from keystoneauth1 import adapter

from placement.client import allocations, candidates, claims, names, trees
from placement.client.allocations import Allocations, Consumer
from placement.client.candidate_request import CandidateRequest
from placement.client.candidates import Candidate, Candidates
from placement.client.connection import Connection
from placement.client.microversions import Microversion
from placement.client.provider import Provider
from placement.client.retry_policy import Deadline, RetryPolicy
from placement.client.session import Session


class ReportClient:
    """Talks to one placement service; threads may share it.

    The adapter of keystoneauth1 says who is asking and where the service is.  Every method may
    raise `errors.Unreachable`, `errors.Refused` and `errors.TooOld`; what else it may raise, it
    names (specification: clients).
    """

    def __init__(self, adapter: adapter.Adapter, retry_policy: RetryPolicy | None = None) -> None:
        self._connection = Connection(adapter)
        self._retry_policy = retry_policy or RetryPolicy()
        self._deadline: Deadline | None = None

    def within(self, seconds: float) -> ReportClient:
        """The same client, whose calls have to be over, together, in so many seconds from now.

        They raise `errors.OutOfTime`, or the error that could not be got over by then.
        """
        limited = copy.copy(self)
        limited._deadline = Deadline(seconds)
        return limited

    def microversion(self) -> Microversion:
        """The newest microversion that both sides know."""
        return self._wire().version()

    def ensure_resource_class(self, name: str) -> None:
        """Have the class there, in one request.

        :raises errors.Conflict: others were in the way again and again
        :raises errors.Gone: it is a standard class that the service does not know
        """
        names.ensure_resource_class(self._wire(), name)

    def ensure_traits(self, traits: Iterable[str]) -> None:
        """Have the traits there: one request to compare, and one for each that is missing.

        :raises errors.Conflict: others were in the way again and again
        :raises errors.Gone: there is a standard trait that the service does not know
        """
        names.ensure_traits(self._wire(), traits)

    def ensure_tree(self, provider: Provider, parent: str | None = None) -> None:
        """Have a provider and those below it as they are wanted; only differences are sent.

        ``parent`` is where the uppermost one belongs; None leaves it where it is.

        :raises errors.Conflict: others have changed a provider again and again
        :raises errors.Gone: the parent is not there, or a standard trait or class is not known
        :raises errors.InUse: a resource class that is to go has allocations
        :raises errors.NameTaken: another provider has a name that is wanted
        """
        trees.ensure_tree(self._wire(), provider, parent)

    def delete_provider(self, uuid: str) -> bool:
        """Have no such provider; whether there was one.

        :raises errors.Conflict: others were in the way again and again
        :raises errors.InUse: it has children or allocations
        """
        return trees.delete_provider(self._wire(), uuid)

    def find_candidates(self, request: CandidateRequest) -> Candidates:
        """The ways to satisfy the request at present; none is no error."""
        return candidates.find_candidates(self._wire(), request)

    def claim(self, consumer: Consumer, candidate: Candidate) -> None:
        """Take what the candidate offers, for a consumer that has nothing yet.

        :raises errors.Conflict: the consumer has something already
        :raises errors.Gone: a provider of the candidate is not there any more
        :raises errors.NoCapacity: others have taken it meanwhile
        """
        claims.claim(self._wire(), consumer, candidate)

    def claim_any(self, consumer: Consumer, candidates: Iterable[Candidate]) -> Candidate:
        """Take the first candidate that can still be had; that candidate.

        :raises errors.Conflict: the consumer has something already
        :raises errors.NoCapacity: none can be had
        """
        return claims.claim_any(self._wire(), consumer, candidates)

    def find_allocations(self, consumer: str) -> Allocations | None:
        """What the consumer uses; None when it uses nothing."""
        return allocations.find(self._wire(), consumer)

    def change_allocations(
        self, consumer: str, edit: Callable[[Allocations], Allocations]
    ) -> None:
        """Replace what the consumer uses by what ``edit`` makes of it, as often as it takes.

        :raises errors.Conflict: others have written the consumer again and again
        :raises errors.Gone: it uses nothing, or a provider is not there
        :raises errors.NoCapacity: it does not fit
        """
        allocations.change(self._wire(), consumer, edit)

    def move(self, instance: str, migration: str, candidate: Candidate) -> None:
        """Give the migration what the instance has, and the instance what the candidate offers.

        :raises errors.Conflict: the migration has something, or somebody writes the instance
        :raises errors.Gone: the instance has nothing, or a provider is not there any more
        :raises errors.NoCapacity: others have taken it meanwhile
        """
        claims.move(self._wire(), instance, migration, candidate)

    def confirm(self, migration: str) -> bool:
        """Release the source of a move; whether there was something left to release.

        :raises errors.Conflict: others were in the way again and again
        """
        return claims.release(self._wire(), migration)

    def revert(self, instance: str, migration: str) -> None:
        """Give the instance back what its migration has, and release the destination.

        :raises errors.Conflict: somebody writes one of the two
        :raises errors.Gone: one of the two has nothing
        """
        claims.revert(self._wire(), instance, migration)

    def release(self, consumer: str) -> bool:
        """Have the consumer use nothing; whether there was something left to release.

        :raises errors.Conflict: others were in the way again and again
        """
        return claims.release(self._wire(), consumer)

    def _wire(self) -> Session:
        deadline = self._deadline or Deadline(self._retry_policy.call_timeout)
        return Session(self._connection, self._retry_policy, deadline)
