# SPDX-License-Identifier: Apache-2.0
"""The parsers of commands, their options, and messages about an unusable database."""

import argparse
import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

from oslo_config import cfg

from placement.db.engine import failures
from placement.db.engine.causes import Cause
from placement.db.engine.engines import MissingDriverError
from placement.db.schema import revisions


class Options(cfg.ConfigOpts):
    """Options whose ``--shell_completion`` prints a script for bash or zsh.

    oslo.config has one, but its distribution lacks the templates, and it does not complete actions
    of a command or their options.
    """

    def _print_shell_completion(self, shell: str) -> None:
        # Imported here because no other use of a command needs it.
        try:
            import shtab
        except ImportError:
            sys.exit("Completion needs the extra: pip install 'openstack-placement[completion]'.")
        parser = self._oparser
        assert parser is not None
        for option, group in self._all_cli_opts():
            option._add_to_cli(parser, group)
        # The parser of oslo.config adds its arguments on first use.
        parser.initialize_parser_arguments()
        print(shtab.complete(parser, shell))


Action = Callable[[cfg.ConfigOpts], int]


def add_group(subparsers: Any, name: str, words: str) -> Any:
    """Add a command with actions, which prints its help without one; return their parsers."""
    group = subparsers.add_parser(name, help=words)
    group.set_defaults(action=functools.partial(_print_help, group))
    return group.add_subparsers(title='actions')


def _print_help(parser: argparse.ArgumentParser, _conf: cfg.ConfigOpts) -> int:
    parser.print_help()
    return 0


def add_action(subparsers: Any, name: str, action: Action, words: str) -> argparse.ArgumentParser:
    """Add the parser of a command that runs a function."""
    parser: argparse.ArgumentParser = subparsers.add_parser(name, help=words, description=words)
    parser.set_defaults(action=action)
    return parser


class UnusableDatabaseError(Exception):
    """The reason why the database cannot be used, and a remedy, in one line for the operator."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f'{reason} {remedy}')
        self.reason = reason
        self.remedy = remedy


@contextlib.contextmanager
def in_words() -> Iterator[None]:
    """Raise `UnusableDatabaseError` instead of errors of the database.

    All other errors pass through. Specification: commands.
    """
    try:
        yield
    except MissingDriverError as error:
        raise UnusableDatabaseError(f'{error.reason}.', error.remedy) from error
    except revisions.MissingSchemaError as error:
        reason = str(error).removesuffix(revisions.REMEDY).rstrip()
        raise UnusableDatabaseError(reason, revisions.REMEDY) from error
    except Exception as error:
        words = failures.unusable_reason(error)
        if words is None:
            raise
        is_damaged = failures.cause_of(error) is Cause.DAMAGED
        raise UnusableDatabaseError(
            f'The database cannot be used: {words}.',
            failures.RESTORE if is_damaged else 'Run "placement-manage doctor".',
        ) from error
