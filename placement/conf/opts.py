# SPDX-License-Identifier: Apache-2.0
"""What ``oslo-config-generator`` asks for in the namespace ``placement.conf``."""

import copy

from oslo_config import cfg

from placement.conf import (
    api,
    base,
    change_history,
    database,
    insight,
    libraries,
    metrics,
    placement,
    server,
    ui,
    workarounds,
)

MODULES = (
    base,
    api,
    placement,
    insight,
    metrics,
    change_history,
    workarounds,
    database,
    server,
    ui,
)


def list_opts() -> list[tuple[cfg.OptGroup | str, list[cfg.Opt]]]:
    """Every group of the service with its options; those of libraries have own namespaces."""
    return [(module.GROUP or 'DEFAULT', copy.deepcopy(module.OPTIONS)) for module in MODULES]


def set_library_defaults() -> None:
    """Make the generator show the defaults of this service for the options of libraries."""
    libraries.set_defaults()
