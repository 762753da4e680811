# SPDX-License-Identifier: Apache-2.0
"""The base classes and helpers of the commands."""

from __future__ import annotations

import abc
import argparse
import contextlib
import io
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TextIO, TypeVar

from osc_lib.command import command

from osc_placement_insight import cells, service
from osc_placement_insight.layout import wrapped
from osc_placement_insight.progress import Progress
from osc_placement_insight.service import Service

TEXT = 'text'
#: Formats that are lines.
LINES = (TEXT, 'dot', 'commands')
#: Formats that show an answer as the service gave it.
WHOLE = cells.STRUCTURED

CommandType = TypeVar('CommandType', bound=command.Command)


@contextlib.contextmanager
def asking(asker: command.Command, doing: str, is_shown: bool = True) -> Iterator[Service]:
    """The service of a command; a terminal shows the activity after a second.

    `is_shown` is False for a command that prints during its requests.

    Requests are made at the newest microversion unless the user names one, with
    `--os-placement-api-version` or in `clouds.yaml`.

    :raises osc_lib.exceptions.CommandError: there is no service, or it cannot be reached
    """
    manager: Any = asker.app.client_manager
    with Progress(sys.stderr if is_shown else io.StringIO(), doing) as progress:
        with service.failures_in_words():
            client = manager.placement
            progress.wait_for(manager.get_endpoint_for_service_type('placement') or 'the service')
        yield Service(client, requested_version(manager), progress.tell)


def requested_version(manager: Any) -> str | None:
    """The microversion that the user asks for; None where osc-placement would negotiate one."""
    version: str = manager._api_version['placement']
    return None if version == service.NEGOTIATED else version


def add_without_nova(parser: argparse.ArgumentParser) -> None:
    """Add the option that leaves out nova."""
    parser.add_argument(
        '--without-nova',
        action='store_true',
        help='do not ask nova for servers, flavors, zones, server groups and migrations: only '
        'what is held is known then',
    )


def example(arguments: str) -> Callable[[type[CommandType]], type[CommandType]]:
    """Give the help of a command an example: the arguments of `openstack`."""

    def add(one: type[CommandType]) -> type[CommandType]:
        # cliff has it for this, without its type.
        one._epilog = f'Example: openstack {arguments}'  # type: ignore[assignment]
        return one

    return add


class Shown(NamedTuple):
    """An answer in the shapes that formats show.

    `answer` is for `json` and `yaml`, `text`, `dot` and `commands` are lines, and `rows` are for
    a table with these `columns`.
    """

    answer: Mapping[str, Any]
    text: Sequence[str]
    columns: Sequence[str]
    rows: Iterable[Sequence[Any]]
    dot: Sequence[str] = ()
    commands: Sequence[str] = ()


def with_notes(notes: Sequence[str], lines: Iterable[str]) -> Iterator[str]:
    """The lines of an answer, after what is to be said about the question."""
    yield from itertools.chain.from_iterable(map(wrapped, notes))
    if notes:
        yield ''
    yield from lines


def encodable(stream: TextIO, lines: Iterable[str], ascii_only: dict[int, int]) -> Iterator[str]:
    """The lines, with other characters where the encoding of a stream lacks those they have."""
    encoding = getattr(stream, 'encoding', None) or 'utf-8'
    for line in lines:
        try:
            line.encode(encoding)
        except UnicodeEncodeError:
            yield line.translate(ascii_only)
        else:
            yield line


class AnswerCommand(command.Lister):
    """A command whose answer is no table: as text by default, whole, or as rows.

    Each of the formats of a list (`table`, `csv`, `value`) shows rows, and `json` and `yaml` show
    the answer as the service gave it.
    """

    formatter_default = TEXT
    #: Where the entry points of the formats are.
    formatter_namespace = 'osc_placement_insight.formatter.answer'

    @abc.abstractmethod
    def ask(self, parsed_args: argparse.Namespace) -> Shown:
        """Ask the service."""

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        """The column names and rows of the chosen format."""
        shown = self.ask(parsed_args)
        if parsed_args.formatter in WHOLE:
            return [*shown.answer], [[*shown.answer.values()]]
        if parsed_args.formatter in LINES:
            lines = getattr(shown, parsed_args.formatter)
            return ['line'], [[cells.escaped(line)] for line in lines]
        return shown.columns, cells.as_shown(shown.rows, parsed_args.formatter)

    def produce_output(
        self, parsed_args: argparse.Namespace, column_names: Sequence[str], data: Any
    ) -> int:
        """Write it; a whole answer is one object, not a list of one."""
        if parsed_args.formatter not in WHOLE:
            return super().produce_output(parsed_args, column_names, data)
        ((values),) = data
        formatter: Any = self.formatter
        formatter.emit_one(column_names, values, self.app.stdout, parsed_args)
        return 0


class PlacingCommand(AnswerCommand):
    """A command that asks whether all find a place, whose exit status is 2 where they do not."""

    NOT_ALL = 2
    are_all_placed = True

    def run(self, parsed_args: argparse.Namespace) -> int:
        """The exit status of the command."""
        status: int = super().run(parsed_args) or 0
        return status or (0 if self.are_all_placed else self.NOT_ALL)
