# SPDX-License-Identifier: Apache-2.0
"""The errors of the client, one class for each reaction that a caller can choose."""

# Statuses which mean that the request was not processed: it timed out, or there were too many.
NOT_PROCESSED = frozenset({408, 429})


class ClientError(Exception):
    """The base of all errors of this package.

    ``status``, ``code`` and ``request_id`` come from the answer; each is None if the answer had
    none.  The service logs the request with that id.  ``retry_after`` is the Retry-After header in
    seconds, 0 without one.
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
    """A concurrent write was faster: read again, decide again, and retry."""


class NoCapacity(ClientError):
    """The claim exceeds the capacity: pick another candidate."""


class Gone(ClientError):
    """A named provider, consumer, trait or class does not exist: create it, or do without."""


class Refused(ClientError):
    """The request is invalid or forbidden: change it, or the permissions."""


class InUse(Refused):
    """The provider or class to be removed is in use: move or release its consumers first."""


class NameTaken(Refused):
    """Another provider has this name: choose another, or rename that one."""


class TooOld(Refused):
    """The service does not support what the call needs: upgrade it, or do without."""


class Unreachable(ClientError):
    """The service did not answer, or failed: try again later.

    The request may have been processed. The client has retried whatever is safe to retry.
    """

    #: False when the last request failed before it was sent.
    was_sent: bool = True

    @property
    def may_be_processed(self) -> bool:
        """Return True if the last request may have been processed; earlier ones do not matter."""
        return self.was_sent and self.status not in NOT_PROCESSED


class OutOfTime(Unreachable):
    """The deadline of the call has passed."""
