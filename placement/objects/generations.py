# SPDX-License-Identifier: Apache-2.0
"""The log of generation conflicts: their responses do not all say which generation is stored."""

from __future__ import annotations

import logging

LOG = logging.getLogger(__name__)


def log_provider_conflict(uuid: str, stored: int | None, given: object) -> None:
    """Log that a request was for another generation of a provider than the stored one."""
    _log('resource provider', uuid, stored, given)


def log_consumer_conflict(uuid: str, stored: int | None, given: object) -> None:
    """Log the same of a consumer; None says that it does not exist, or must not."""
    _log('consumer', uuid, stored, given)


def _log(noun: str, uuid: str, stored: int | None, given: object) -> None:
    # Clients are expected to meet conflicts, and to begin again: that is no warning.
    LOG.info(
        'Generation conflict: %s %s has generation %s, the request was for %s.',
        noun,
        uuid,
        'null' if stored is None else stored,
        'null' if given is None else given,
    )
