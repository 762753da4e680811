# SPDX-License-Identifier: Apache-2.0
"""What the service answers, and which error a refusal is.

Specification: http, "Responses and errors".
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any

from placement.client import errors

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

# To claim from a provider, or to have a parent, that was deleted meanwhile is a 400 without a code
# of its own.
PROVIDER_IS_GONE = re.compile(
    r'Allocation for resource provider .* that does not exist\.'
    r'|parent provider UUID does not exist\.'
)


@dataclasses.dataclass(frozen=True)
class Answer:
    """One answer, whatever its status; the names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def request_id(self) -> str | None:
        """What the service logged the request under."""
        return self.headers.get('x-openstack-request-id')

    def body(self) -> Any:
        """The body as data.

        :raises errors.Unreachable: it is not JSON, so somebody else has answered
        """
        try:
            return json.loads(self.content)
        except ValueError as error:
            raise errors.Unreachable(
                f'what answers is no placement service: {self._text()}',
                status=self.status,
                request_id=self.request_id,
            ) from error

    def error(self, conflict: type[errors.ClientError] = errors.Refused) -> errors.ClientError:
        """The error that this answer is; ``conflict`` is what a 409 without a code means here."""
        told = self._told()
        code = told.get('code')
        # Before the specific message, the detail has a sentence that says what the status says.
        message = str(told.get('detail', '')).split('\n\n', 1)[-1].strip() or self._text()
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

    def _told(self) -> Mapping[str, Any]:
        """The error object; empty when somebody in between has answered in a way of its own."""
        try:
            told = json.loads(self.content)['errors'][0]
        except (ValueError, LookupError, TypeError):
            return {}
        return told if isinstance(told, dict) else {}

    def _text(self) -> str:
        """The beginning of the body, for people."""
        words = ' '.join(self.content[:300].decode('utf-8', 'replace').split())
        return f'{self.status} {words}'.strip()

    def _retry_after(self) -> float:
        """The seconds that the service wants to be left alone; 0 when it does not say."""
        seconds = self.headers.get('retry-after', '')
        return float(seconds) if seconds.isdecimal() else 0.0
