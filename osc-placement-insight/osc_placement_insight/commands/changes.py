# SPDX-License-Identifier: Apache-2.0
"""The command that lists the changes of the cloud."""

from __future__ import annotations

import argparse
import datetime
import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from osc_lib import exceptions
from osc_lib.command import command

from osc_placement_insight import argument_types, cells
from osc_placement_insight.commands import base
from osc_placement_insight.service import Service, is_temporary
from osc_placement_insight.streaming import RowStream

CHANGES = '/insight/changes'
PROVIDERS = '/insight/providers'
PAGE = ('page_limit', '1000')

#: `seen_at` is when the command read it: the service does not say when it happened.
COLUMNS = ('seen_at', 'change', 'uuid', 'name', 'generation')
MEMBERS = ('inventories', 'usages', 'traits', 'aggregates', 'allocations')
#: Seconds between the requests of a follower.
INTERVAL = 2.0

MISSED = (
    'The service cannot tell any more what changed since then: it keeps the changes of an hour at '
    'least, no more than [placement] change_feed_max_ids, and a database that was restored or '
    'replaced begins anew. Read what you need again'
)


@base.example('placement change list --since 1h --include usages')
class ListChanges(command.Lister):
    """List resource providers that changed since a time or a token, or as they change.

    A provider is listed as it is now, whatever of it changed: its inventories, usages, traits,
    aggregates, allocations, its name or its place in the tree. The list may include unchanged
    providers. The token for the next call is printed to standard error; without --since, only the
    token is printed. With --follow the command goes on until it is interrupted.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--since',
            metavar='<time or token>',
            type=argument_types.moment,
            help='an age such as 30m or 1h, a time in ISO 8601, by default in UTC, or the token '
            'that this command told the last time; the service keeps an hour at least',
        )
        parser.add_argument(
            '--follow',
            action='store_true',
            help='go on, and print each change as it is seen; json has an object on each line',
        )
        parser.add_argument(
            '--interval',
            metavar='<seconds>',
            type=argument_types.seconds,
            default=INTERVAL,
            help=f'with --follow: how often to ask, {INTERVAL} by default',
        )
        parser.add_argument(
            '--include',
            metavar='<member>[,<member>...]',
            type=_members,
            default=[],
            help=f'also show these members, as they are now: {", ".join(MEMBERS)}',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        with base.asking(self, 'reading changes', is_shown=not parsed_args.follow) as service:
            feed = Feed(service, parsed_args.include, parsed_args.since)
            if parsed_args.follow:
                self._follow(feed, parsed_args)
            rows = [*feed.read()]
        self.log.warning(f'For what changes from now on: --since {feed.token}')
        return feed.columns, cells.as_shown(rows, parsed_args.formatter)

    def _follow(self, feed: Feed, parsed_args: argparse.Namespace) -> None:
        """Print changes until interrupted.

        After a first answer the service may be away for a while, for a restart.
        """
        columns, selected = self._generate_columns_and_selector(parsed_args, feed.columns)
        stream = RowStream(self.app.stdout, parsed_args.formatter, columns)
        # None until the first answer.
        is_away: bool | None = None
        while True:
            try:
                stream.write(
                    [*itertools.compress(row, selected or itertools.repeat(True))]
                    for row in self._changes(feed)
                )
                is_away = False
            except exceptions.CommandError as error:
                if is_away is None or not is_temporary(error):
                    raise
                if not is_away:
                    self.log.warning(f'{error} Trying again until it answers.')
                is_away = True
            time.sleep(parsed_args.interval)

    def _changes(self, feed: Feed) -> Iterator[Sequence[Any]]:
        """The rows of the next reading; none, and a warning, where changes were missed."""
        try:
            yield from feed.read()
        except ChangesMissed as error:
            self.log.warning(f'{error}. Following from now on.')
            feed.begin()


class ChangesMissed(exceptions.CommandError):
    """The service no longer has all changes since a token."""


class Feed:
    """The changes since a token, or since now; `token` is where the next reading begins."""

    def __init__(self, service: Service, members: Sequence[str], token: str | None) -> None:
        self._service = service
        self._members = members
        self._include = [('include', ','.join(members))] if members else []
        self.columns = (*COLUMNS, *members)
        self.token = token or self._token_of_now()

    def begin(self) -> None:
        """Begin now."""
        self.token = self._token_of_now()

    def read(self) -> Iterator[Sequence[Any]]:
        """A row for each provider that changed, with `columns`.

        :raises ChangesMissed: the service cannot tell
        """
        query = [('since', self.token), PAGE, *self._include]
        for page in self._service.pages(CHANGES, query):
            if not page['complete']:
                raise ChangesMissed(MISSED)
            yield from (self._row('changed', one) for one in page['providers'])
            yield from (self._row('deleted', {'uuid': uuid}) for uuid in page['deleted'])
            self.token = page['token']

    def _row(self, change: str, provider: dict[str, Any]) -> Sequence[Any]:
        names = (*COLUMNS[2:], *self._members)
        return (now(), change, *(provider.get(name) for name in names))

    def _token_of_now(self) -> str:
        token: str = self._service.ask(PROVIDERS, [('page_limit', '1')])['token']
        return token


def now() -> str:
    """The time for `seen_at`, in UTC."""
    return f'{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H:%M:%SZ}'


def _members(text: str) -> list[str]:
    names = text.split(',')
    if unknown := {*names} - {*MEMBERS}:
        raise argparse.ArgumentTypeError(
            f'{", ".join(sorted(unknown))} is none of {", ".join(MEMBERS)}'
        )
    return names
