# SPDX-License-Identifier: Apache-2.0
"""Promises of room: set, list, show and unset them."""

from __future__ import annotations

import argparse
import urllib.parse
from collections.abc import Iterable, Sequence
from typing import Any

from osc_lib import exceptions
from osc_lib.command import command

from osc_placement_insight import candidate_request, cells, refusals
from osc_placement_insight.commands import base
from osc_placement_insight.service import Service
from osc_placement_insight.what_if.names import Names

PATH = '/insight/promises'
COLUMNS = ('name', 'state', 'count', 'room', 'slack', 'keep', 'request')
SHOWN = (*COLUMNS, 'held_hosts', 'exempt', 'refusal', 'notes', 'set_at', 'set_by')
#: The states of which the cause is looked for, and the fields that have it.
ENDANGERED = ('tight', 'broken')
TAKERS = ('cause', 'took_room_lately')


def path_of(name: str) -> str:
    """Return the path of a promise."""
    return f'{PATH}/{urllib.parse.quote(name, safe="")}'


def room_text(room: Any) -> str:
    """Return the number of consumers that fit, or the bounds of the number."""
    least, most = room['at_least'], room['at_most']
    return str(least) if least == most else f'{least} to {most}'


def _values(promise: Any, columns: Sequence[str]) -> list[Any]:
    shown = {**promise, 'room': room_text(promise['room'])}
    return [shown[name] for name in columns]


def _shown(promise: Any, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
    (row,) = cells.as_shown([_values(promise, SHOWN)], parsed_args.formatter)
    return SHOWN, row


def _takers(service: Service, name: str) -> tuple[str | None, list[str]]:
    """Return the sentence on the change that broke a promise, and the latest that took room.

    None are known where the history is off, or not for this user.
    """
    try:
        answer = service.ask(f'{path_of(name)}/takers')
    except refusals.Refused:
        return None, []
    return answer['summary'], [_taker_words(taker) for taker in answer['takers']]


def _taker_words(taker: Any) -> str:
    """Return a change in one line: "<at> 41 to 38: allocations.set by nova on host7"."""
    caller = taker['caller']['user_name'] or taker['caller']['user_id'] or 'nobody'
    hosts = ', '.join(root['name'] or root['uuid'] for root in taker['roots'])
    room = taker['room']
    if room is not None:
        change = f'{room["before"]} to {room["after"]}: '
    else:
        change = '' if taker['taken'] is None else f'{taker["taken"]} fewer: '
    return f'{taker["at"]} {change}{taker["action"]} by {caller} on {hosts}'


@base.example('placement promise set hana --flavor hana.xl --count 40')
class SetPromise(command.ShowOne):
    """Promise room for a number of consumers of one request.

    A promise of the same name is replaced. It is watched: nothing is withheld from anybody for it.
    With --keep, searches are not offered the hosts whose room the promise needs, except for
    requests that are at least as large: see "Keep the room" in the guide before you use it.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('name', metavar='<name>', help='name of the promise, in lower case')
        parser.add_argument(
            '--count',
            metavar='<number>',
            type=int,
            required=True,
            help='number of consumers, such as servers, for which there is to be room',
        )
        parser.add_argument(
            '--keep',
            action='store_true',
            help='withhold the room from searches for other requests; a promise that is set again '
            'without it is watched only',
        )
        parser.add_argument(
            '--dry-run',
            action='store_true',
            help='show the promise, the hosts that it would hold, and the exempt requests of '
            '[metrics] requests_file, without setting it',
        )
        candidate_request.add_options(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        manager = self.app.client_manager
        with base.asking(self, 'setting the promise') as service:
            asked = candidate_request.from_options(
                parsed_args, service, manager, Names(manager).aggregate
            )
            body = {'request': asked.text, 'count': parsed_args.count}
            # A service of before knows neither.
            body |= {'keep': True} if parsed_args.keep else {}
            body |= {'dry_run': True} if parsed_args.dry_run else {}
            promise = service.send('PUT', path_of(parsed_args.name), body=body, repeatable=True)
        for note in (*asked.notes[1:], *promise['notes']):
            self.log.warning(note)
        return _shown(promise, parsed_args)


@base.example('placement promise list')
class ListPromises(command.Lister):
    """List promises of room with their states: kept, tight, broken or unknown."""

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        with base.asking(self, 'listing promises') as service:
            promises = service.ask(PATH)['promises']
        rows = [_values(promise, COLUMNS) for promise in promises]
        return COLUMNS, cells.as_shown(rows, parsed_args.formatter)


@base.example('placement promise show hana')
class ShowPromise(command.ShowOne):
    """Show a promise of room with its state.

    Where it is tight or broken, and the service has a history that you may read, the answer has
    the latest changes that took room, with the room before and after each, and the cause: the
    change that broke it.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('name', metavar='<name>', help='name of the promise')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        with base.asking(self, 'counting the room') as service:
            promise = service.ask(path_of(parsed_args.name))
            columns: Sequence[str] = SHOWN
            values = _values(promise, SHOWN)
            if promise['state'] in ENDANGERED and promise['refusal'] is None:
                columns = (*columns, *TAKERS)
                values += _takers(service, parsed_args.name)
        (row,) = cells.as_shown([values], parsed_args.formatter)
        return columns, row


@base.example('placement promise release --all')
class ReleasePromise(command.Command):
    """Stop withholding room for promises, which stay set and watched.

    It takes effect with the next search of each worker.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument(
            'names', metavar='<name>', nargs='*', default=[], help='name of the promise'
        )
        which.add_argument('--all', action='store_true', help='all promises whose room is kept')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        with base.asking(self, 'releasing promises') as service:
            listed = service.ask(PATH)['promises'] if parsed_args.all else ()
            promises = {one['name']: one for one in listed}
            failures = []
            for name in (*promises, *parsed_args.names):
                try:
                    promise = promises.get(name) or service.ask(path_of(name))
                    if promise['keep']:
                        body = {'request': promise['request'], 'count': promise['count']}
                        service.send('PUT', path_of(name), body=body, repeatable=True)
                except exceptions.CommandError as error:
                    # The others are released nevertheless.
                    failures.append(f'{name} is not released: {error}')
        if failures:
            raise exceptions.CommandError('\n'.join(failures))


@base.example('placement promise unset hana')
class UnsetPromise(command.Command):
    """Remove promises of room."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'names', metavar='<name>', nargs='+', help='name of the promise; may be repeated'
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        with base.asking(self, 'removing promises') as service:
            for name in parsed_args.names:
                service.send('DELETE', path_of(name), repeatable=True)
