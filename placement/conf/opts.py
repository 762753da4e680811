# SPDX-License-Identifier: Apache-2.0
"""The options for ``oslo-config-generator`` in the namespace ``placement.conf``."""

import copy
from collections.abc import Sequence

from oslo_config import cfg

from placement.conf import database, insight, libraries, service

GROUPS: tuple[tuple[cfg.OptGroup | None, Sequence[cfg.Opt]], ...] = (
    (service.DEFAULT_GROUP, service.DEFAULT_OPTIONS),
    (service.API_GROUP, service.API_OPTIONS),
    (service.PLACEMENT_GROUP, service.PLACEMENT_OPTIONS),
    (insight.INSIGHT_GROUP, insight.INSIGHT_OPTIONS),
    (insight.METRICS_GROUP, insight.METRICS_OPTIONS),
    (insight.HISTORY_GROUP, insight.HISTORY_OPTIONS),
    (service.WORKAROUNDS_GROUP, service.WORKAROUNDS_OPTIONS),
    (database.DATABASE_GROUP, database.DATABASE_OPTIONS),
    (insight.UI_GROUP, insight.UI_OPTIONS),
)


def list_opts() -> list[tuple[cfg.OptGroup | str, list[cfg.Opt]]]:
    """Every group of the service with its options; those of libraries have own namespaces."""
    return [(group or 'DEFAULT', copy.deepcopy(list(options))) for group, options in GROUPS]


def set_library_defaults() -> None:
    """Make the generator show the defaults of this service for the options of libraries."""
    libraries.set_defaults()
