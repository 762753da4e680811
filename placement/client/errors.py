# SPDX-License-Identifier: Apache-2.0
"""Why a call did not do what it was to do, by what the caller can do about it."""

# Who answers like this did not begin with the request: it came too slowly, or too many came.
NOT_BEGUN = frozenset({408, 429})


class ClientError(Exception):
    """The base of all errors of this package.

    ``status`` and ``code`` are those of the answer, ``request_id`` is what the service logged it
    under; each is None when there was no such thing. ``retry_after`` is for how many seconds the
    service wants to be left alone.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        request_id: str | None = None,
        retry_after: float = 0.0,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.request_id = request_id
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f'{self.message} ({self.request_id})' if self.request_id else self.message


class Conflict(ClientError):
    """Somebody else was faster: read again, decide again, and retry."""


class NoCapacity(ClientError):
    """The claim does not fit, or not any more: pick another candidate."""


class Gone(ClientError):
    """What was named is not there: forget it, or create it; of candidates, pick another."""


class Refused(ClientError):
    """The same request will be refused again: change it, or the permissions."""


class NotConfigured(Refused):
    """There is no such cloud, or too little is said about it: see to clouds.yaml."""


class InUse(Refused):
    """What is to be removed is still used: move or release its consumers first."""


class NameTaken(Refused):
    """Another provider has this name: find out whose it is."""


class TooOld(Refused):
    """The service does not know what the call needs: upgrade it, or do without."""


class Unreachable(ClientError):
    """There was no answer, or none of the service: try again later.

    What was asked for may have happened. The client has repeated whatever is safe to repeat.
    """

    #: False when the last request failed before it was sent.
    was_sent: bool = True

    @property
    def may_be_done(self) -> bool:
        """Whether the last request may have been carried out, leaving those before it aside."""
        return self.was_sent and self.status not in NOT_BEGUN


class OutOfTime(Unreachable):
    """The time that was given to the call is over."""
