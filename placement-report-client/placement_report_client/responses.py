# SPDX-License-Identifier: Apache-2.0
"""Answers of the service, and the error that a refusal raises.

Specification: http, "Responses and errors".
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any

from placement_report_client import errors

BY_CODE: Mapping[str, type[errors.ClientError]] = {
    'placement.concurrent_update': errors.Conflict,
    'placement.duplicate_name': errors.NameTaken,
    'placement.inventory.inuse': errors.InUse,
    'placement.resource_provider.cannot_delete_parent': errors.InUse,
    'placement.resource_provider.inuse': errors.InUse,
    'placement.resource_provider.not_found': errors.Gone,
}

BY_STATUS: Mapping[int, type[errors.ClientError]] = {
    404: errors.Gone,
    408: errors.Unreachable,
    429: errors.Unreachable,
}

# A claim on a deleted provider, and a deleted parent, are answered 400 without a code of their
# own.
PROVIDER_IS_GONE = re.compile(
    r'Allocation for resource provider .* that does not exist\.'
    r'|parent provider UUID does not exist\.'
)


@dataclasses.dataclass(frozen=True)
class Response:
    """One answer of any status; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def request_id(self) -> str | None:
        """The id under which the service has logged the request."""
        return self.headers.get('x-openstack-request-id')

    def body(self) -> Any:
        """The body as data.

        :raises errors.Unreachable: it is not JSON, so something else than the service has answered
        """
        try:
            return json.loads(self.content)
        except ValueError as error:
            raise errors.Unreachable(
                f'the endpoint is not a placement service: {self._text()}',
                status=self.status,
                request_id=self.request_id,
            ) from error

    def error(self, conflict: type[errors.ClientError] = errors.Refused) -> errors.ClientError:
        """The error for this answer; ``conflict`` is the class for a 409 without a code."""
        error_object = self._error_object()
        code = error_object.get('code')
        # The detail begins with a generic sentence about the status, before the specific message.
        message = str(error_object.get('detail', '')).split('\n\n', 1)[-1].strip() or self._text()
        kind = self._kind(code, message, conflict)
        return kind(
            message,
            status=self.status,
            code=code,
            request_id=self.request_id,
            retry_after=self._retry_after(),
        )

    def _kind(
        self, code: str | None, message: str, conflict: type[errors.ClientError]
    ) -> type[errors.ClientError]:
        if code is not None and code in BY_CODE:
            return BY_CODE[code]
        if self.status >= 500:
            return errors.Unreachable
        if self.status == 409:
            return conflict
        if PROVIDER_IS_GONE.search(message):
            return errors.Gone
        return BY_STATUS.get(self.status, errors.Refused)

    def _error_object(self) -> Mapping[str, Any]:
        """The error object of the body; empty when a proxy has answered in another form."""
        try:
            error_object = json.loads(self.content)['errors'][0]
        except (ValueError, LookupError, TypeError):
            return {}
        return error_object if isinstance(error_object, dict) else {}

    def _text(self) -> str:
        """The status and the beginning of the body, for a message."""
        words = ' '.join(self.content[:300].decode('utf-8', 'replace').split())
        return f'{self.status} {words}'.strip()

    def _retry_after(self) -> float:
        """The seconds of the Retry-After header; 0 without one."""
        seconds = self.headers.get('retry-after', '')
        return float(seconds) if seconds.isdecimal() else 0.0
