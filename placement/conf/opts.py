# SPDX-License-Identifier: Apache-2.0
"""What ``oslo-config-generator`` asks for in the namespace ``placement.conf``."""

import copy

from oslo_config import cfg

from placement.conf import (
    api,
    base,
    database,
    insight,
    libraries,
    placement,
    server,
    workarounds,
)

MODULES = (base, api, placement, insight, workarounds, database, server)


def list_opts() -> list[tuple[cfg.OptGroup | str, list[cfg.Opt]]]:
    """Every group of the service with its options; those of libraries have own namespaces."""
    return [(module.GROUP or 'DEFAULT', copy.deepcopy(module.OPTIONS)) for module in MODULES]


def set_library_defaults() -> None:
    """Make the generator show the defaults of this service for the options of libraries."""
    libraries.set_defaults()
