# SPDX-License-Identifier: Apache-2.0
"""The extensions that are installed, and their options.

Distributions declare them as entry points. `placement.extension` defines their other additions.
"""

import functools
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import NamedTuple, Protocol

from oslo_config import cfg

ENTRY_POINTS = 'placement.extensions'

OptionGroups = Sequence[tuple[cfg.OptGroup | None, Sequence[cfg.Opt]]]


class UnusableExtensionError(cfg.Error):
    """An enabled extension cannot be loaded."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f'The extension {name} cannot be loaded: {reason}')


class WithOptions(Protocol):
    """The part of an extension that the configuration uses."""

    @property
    def options(self) -> OptionGroups:
        """Its options by group; a group of the service gets additional options."""


class Installed(NamedTuple):
    """The extensions that are installed, by name."""

    loaded: Mapping[str, WithOptions]
    # The reason why it cannot be loaded.
    failed: Mapping[str, str]


@functools.cache
def find() -> Installed:
    """Load the extensions of all entry points, once per process.

    One that cannot be loaded is an error only if it is enabled, which is not known yet.
    """
    loaded, failed = dict[str, WithOptions](), dict[str, str]()
    for entry in metadata.entry_points(group=ENTRY_POINTS):
        try:
            extension: WithOptions = entry.load()
            # Raises an error here if it has none.
            list(extension.options)
            loaded[entry.name] = extension
        except Exception as error:
            failed[entry.name] = ' '.join(f'{type(error).__name__}: {error}'.split())
    return Installed(loaded, failed)
