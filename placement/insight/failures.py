# SPDX-License-Identifier: Apache-2.0
"""Own errors, which are logged and counted and never reach a client."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from placement.metrics import catalog

if TYPE_CHECKING:
    from placement.metrics.recorder import Recorder

LOG = logging.getLogger(__name__)


class Failures:
    """How often something here failed since the worker started; a `recorder` counts it too."""

    def __init__(self, recorder: Recorder | None = None) -> None:
        self._recorder = recorder
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
        if self._recorder is not None:
            self._recorder.add(catalog.INSIGHT_FAILURES)
