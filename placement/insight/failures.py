# SPDX-License-Identifier: Apache-2.0
"""Own errors, which are logged and counted and never reach a client."""

import logging
import threading

LOG = logging.getLogger(__name__)


class Failures:
    """How often something here failed since the worker started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.count = 0

    def unexpected(self, what: str) -> None:
        """Count the exception that is being handled, which is a defect, and log where it arose."""
        self._add()
        LOG.exception('%s failed; the request was answered nevertheless.', what)

    def expected(self, what: str, reason: str) -> None:
        """Count a failure that lies with the database, say, and log its reason."""
        self._add()
        LOG.warning('%s failed, which fails no request: %s', what, reason)

    def _add(self) -> None:
        with self._lock:
            self.count += 1
