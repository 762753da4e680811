# SPDX-License-Identifier: Apache-2.0
"""Which configuration files were read, and what is in them that nobody asks for."""

from __future__ import annotations

import difflib
import glob
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from oslo_config import cfg

from placement.conf import opts

# The environment driver of oslo.config takes variables with this prefix and this separator.
_PREFIX, _SEPARATOR = 'OS_', '__'

_DEFAULT = 'DEFAULT'

Names = dict[str, set[str]]


class Unknown(NamedTuple):
    """An option of a file that does not exist, and the known one that it resembles, if any."""

    group: str
    name: str
    similar: str | None


class WrongValue(NamedTuple):
    """A value that is none of its option, and why."""

    group: str
    name: str
    reason: str


def files_read(conf: cfg.ConfigOpts) -> list[str]:
    """The paths of the files that a configuration was read from, in the order of reading."""
    directories = conf.config_dirs or [
        directory for directory in conf.default_config_dirs if os.path.isdir(directory)
    ]
    return [*conf.config_file] + [
        path
        for directory in directories
        for path in sorted(glob.glob(os.path.join(os.path.expanduser(directory), '*.conf')))
    ]


def variables_read(conf: cfg.ConfigOpts, environ: Mapping[str, str]) -> list[str]:
    """The names of the environment variables that set an option."""
    wanted = {
        f'{_PREFIX}{group}{_SEPARATOR}{name}'.upper()
        for group, names in _registered(conf).items()
        for name in names
    }
    return sorted(wanted & environ.keys())


def wrong_values(conf: cfg.ConfigOpts) -> Iterator[WrongValue]:
    """Every value that cannot be had."""
    for group, names in _registered(conf).items():
        values = conf if group == _DEFAULT else conf[group]
        for name in sorted(names):
            try:
                values[name]
            except (cfg.Error, ValueError) as error:
                yield WrongValue(group, name, ' '.join(str(error).split()))


def unknown_options(
    conf: cfg.ConfigOpts, libraries: Iterable[tuple[str, Iterable[cfg.Opt]]] = ()
) -> list[Unknown]:
    """The options in the files that no part of the service has.

    Files have options of other services and of other releases too. So one in a group of a library
    counts only when it looks like a mistake in typing, and in the default group none does.
    `libraries` are groups of libraries with their options, whose old names are known then.
    """
    known = _registered(conf)
    _add_old_names(known, [*opts.list_opts(), *libraries])
    del known[_DEFAULT]
    own = {str(group) for group, _options in opts.list_opts()}
    found = []
    for path in files_read(conf):
        for group, names in _names_in(path).items():
            if group not in known:
                continue
            for name in sorted(names - known[group]):
                similar = difflib.get_close_matches(name, known[group], n=1, cutoff=0.85)
                if similar or group in own:
                    found.append(Unknown(group, name, similar[0] if similar else None))
    return found


def _add_old_names(known: Names, groups: Iterable[tuple[Any, Iterable[cfg.Opt]]]) -> None:
    for group, options in groups:
        for option in options:
            for old in option.deprecated_opts:
                known.setdefault(old.group or str(group), set()).add(old.name or option.dest)


def unknown_groups(conf: cfg.ConfigOpts) -> list[tuple[str, str]]:
    """The groups in the files that look like mistakes in typing, each with the known one."""
    known = _registered(conf)
    groups = {group for path in files_read(conf) for group in _names_in(path)} - known.keys()
    similar = {name: difflib.get_close_matches(name, known, n=1, cutoff=0.85) for name in groups}
    return sorted((name, found[0]) for name, found in similar.items() if found)


def _registered(conf: cfg.ConfigOpts) -> Names:
    """The names of all options by group."""
    found: Names = {_DEFAULT: set()}
    for name in conf:
        try:
            value = conf[name]
        except (cfg.Error, ValueError):
            value = None
        if isinstance(value, Mapping):
            found[name] = set(value)
        else:
            found[_DEFAULT].add(name)
    return found


def _names_in(path: str) -> Names:
    """The names of the options in a file by group."""
    sections: dict[str, dict[str, list[str]]] = {}
    cfg.ConfigParser(path, sections).parse()
    return {
        group: {name.replace('-', '_') for name in options} for group, options in sections.items()
    }
