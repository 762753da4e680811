# SPDX-License-Identifier: Apache-2.0
"""Configuration files: the files read, mistakes in them, and messages for unusable ones."""

import contextlib
import difflib
import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from oslo_config import cfg

from placement.conf import opts

# Prefix and separator of variables for the environment driver of oslo.config.
_PREFIX, _SEPARATOR = 'OS_', '__'

_DEFAULT = 'DEFAULT'

OptionNames = dict[str, set[str]]


def files_read(conf: cfg.ConfigOpts) -> list[str]:
    """The paths of the files of a configuration, in the order of reading."""
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


def wrong_values(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Yield a message for each option with an invalid value."""
    for group, names in _registered(conf).items():
        values = conf if group == _DEFAULT else conf[group]
        for name in sorted(names):
            try:
                values[name]
            except (cfg.Error, ValueError) as error:
                yield f'[{group}] {name}: {" ".join(str(error).split())}'


def mistakes(
    conf: cfg.ConfigOpts, libraries: Iterable[tuple[str, Iterable[cfg.Opt]]] = ()
) -> list[str]:
    """Return the unknown groups and options in the files, with the probable correct names.

    Files contain options of other services and releases, too. So a group, or an option in a group
    of a library, is reported only if it is similar to a known name, and an option in the default
    group never. `libraries` are groups of libraries with their options, whose deprecated names
    count as known.
    """
    registered = _registered(conf)
    known = _registered(conf)
    _add_old_names(known, [*opts.list_opts(), *libraries])
    del known[_DEFAULT]
    own = {str(group) for group, _options in opts.list_opts()}
    groups, options = set(), []
    for path in files_read(conf):
        for group, names in _names_in(path).items():
            if group not in registered and (meant := _similar(group, registered)):
                groups.add(f'[{group}] (did you mean [{meant}]?)')
            for name in sorted(names - known.get(group, names)):
                meant = _similar(name, known[group])
                if meant:
                    options.append(f'[{group}] {name} (did you mean {meant}?)')
                elif group in own:
                    options.append(f'[{group}] {name}')
    return [*sorted(groups), *options]


def _similar(name: str, known: Iterable[str]) -> str | None:
    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=0.85)), None)


def _add_old_names(known: OptionNames, groups: Iterable[tuple[Any, Iterable[cfg.Opt]]]) -> None:
    for group, options in groups:
        for option in options:
            for old in option.deprecated_opts:
                known.setdefault(old.group or str(group), set()).add(old.name or option.dest)


def _registered(conf: cfg.ConfigOpts) -> OptionNames:
    """The names of all options by group."""
    names: OptionNames = {_DEFAULT: set()}
    for name in conf:
        try:
            value = conf[name]
        except (cfg.Error, ValueError):
            value = None
        if isinstance(value, Mapping):
            names[name] = set(value)
        else:
            names[_DEFAULT].add(name)
    return names


def _names_in(path: str) -> OptionNames:
    """The names of the options in a file by group."""
    sections: dict[str, dict[str, list[str]]] = {}
    cfg.ConfigParser(path, sections).parse()
    return {
        group: {name.replace('-', '_') for name in options} for group, options in sections.items()
    }


#: The directories that oslo.config searches, in addition to those of a virtual environment.
DIRECTORIES = ('~/.placement', '~', '/etc/placement', '/etc')


class MissingConnectionError(cfg.RequiredOptError):
    """No file and no variable sets ``[placement_database] connection``."""

    def __init__(self, reason: str) -> None:
        super().__init__('connection', cfg.OptGroup('placement_database'))
        self._reason = reason

    def __str__(self) -> str:
        return f'{super().__str__()}: {self._reason}'


@contextlib.contextmanager
def explained(conf: cfg.ConfigOpts, arguments: Sequence[str] = ()) -> Iterator[None]:
    """Add the file and the reason to errors of oslo.config.

    :raises cfg.Error: the configuration cannot be used
    """
    try:
        yield
    except cfg.RequiredOptError:
        raise MissingConnectionError(_missing_reason(conf)) from None
    except cfg.ConfigFilesPermissionDeniedError as error:
        raise cfg.Error(f'{error}: permission denied') from None
    except UnicodeDecodeError as error:
        paths = [*conf.default_config_files, *(word.rpartition('=')[2] for word in arguments)]
        path = next(filter(_is_binary, paths), 'a configuration file')
        raise cfg.Error(f'{path} is not a text in UTF-8: {error.reason}') from None


def _missing_reason(conf: cfg.ConfigOpts) -> str:
    paths = files_read(conf)
    if paths:
        unknown = [f'; unknown: {mistake}' for mistake in mistakes(conf)]
        return f'it is not set in {", ".join(paths)}{"".join(unknown)}'
    directories = [os.path.expanduser(directory) for directory in DIRECTORIES]
    present = filter(os.path.isdir, directories)
    closed = [directory for directory in present if not os.access(directory, os.X_OK)]
    suffix = f'; permission denied for {", ".join(closed)}' if closed else ''
    return f'no configuration file was found in {", ".join(directories)}{suffix}'


def _is_binary(path: str) -> bool:
    try:
        with open(path, encoding='utf-8') as file:
            file.read()
    except UnicodeDecodeError:
        return True
    except OSError:
        return False
    return False
