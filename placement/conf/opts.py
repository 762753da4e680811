# SPDX-License-Identifier: Apache-2.0
"""The options for ``oslo-config-generator`` in the namespace ``placement.conf``."""

import copy

from oslo_config import cfg

from placement.conf import database, installed, libraries, metrics, service

GROUPS: installed.OptionGroups = (
    (service.DEFAULT_GROUP, service.DEFAULT_OPTIONS),
    (service.API_GROUP, service.API_OPTIONS),
    (service.PLACEMENT_GROUP, service.PLACEMENT_OPTIONS),
    (metrics.METRICS_GROUP, metrics.METRICS_OPTIONS),
    (service.WORKAROUNDS_GROUP, service.WORKAROUNDS_OPTIONS),
    (database.DATABASE_GROUP, database.DATABASE_OPTIONS),
)


def groups() -> list[tuple[cfg.OptGroup | None, list[cfg.Opt]]]:
    """Every group with its options, including installed extensions."""
    found = {str(group): (group, list(options)) for group, options in GROUPS}
    for extension in installed.find().loaded.values():
        for group, options in extension.options:
            found.setdefault(str(group), (group, []))[1].extend(options)
    return list(found.values())


def list_opts() -> list[tuple[cfg.OptGroup | str, list[cfg.Opt]]]:
    """Every group of the service with its options; libraries have namespaces of their own."""
    return [(group or 'DEFAULT', copy.deepcopy(options)) for group, options in groups()]


def set_library_defaults() -> None:
    """Make the generator show this service's defaults for the options of libraries."""
    libraries.set_defaults()
