# SPDX-License-Identifier: Apache-2.0
"""Errors of insight, which are logged and counted, and never reach a client."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from placement_insight import counters

if TYPE_CHECKING:
    from placement.metrics.recorder import Recorder

LOG = logging.getLogger(__name__)


class Failures:
    """Counts the failures of insight since the worker started, in `recorder` too where given."""

    def __init__(self, recorder: Recorder | None = None) -> None:
        self._recorder = recorder
        self._lock = threading.Lock()
        self.count = 0

    def unexpected(self, what: str) -> None:
        """Count a defect, and log the exception that is being handled with its traceback."""
        self._add()
        LOG.exception('%s failed; the request was answered nevertheless.', what)

    def expected(self, what: str, reason: str) -> None:
        """Count a failure with an external cause, such as the database, and log its reason."""
        self._add()
        LOG.warning('%s failed, which fails no request: %s', what, reason)

    def _add(self) -> None:
        with self._lock:
            self.count += 1
        if self._recorder is not None:
            self._recorder.add(counters.INSIGHT_FAILURES)
