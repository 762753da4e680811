# SPDX-License-Identifier: Apache-2.0
"""How many consumers of a request could be claimed."""

from __future__ import annotations

import argparse
import itertools
import urllib.parse
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from osc_lib import exceptions
from osc_lib.command import command

from osc_placement_insight import candidate_request, cells
from osc_placement_insight.candidate_request import CandidateRequest
from osc_placement_insight.commands import base
from osc_placement_insight.layout import wrapped
from osc_placement_insight.refusals import Refused
from osc_placement_insight.service import Service

PATH = '/insight/capacity'
#: How many trees one page has, and how many requests one question may have.
PAGE = 1000
REQUESTS = 100

FRAGMENTATION = ('resource_class', 'capacity', 'used', 'free', 'usable')
COUNTS = ('now_at_least', 'now_at_most', 'if_empty_at_least', 'if_empty_at_most')


class ShowCapacity(base.AnswerCommand):
    """Show how many consumers of a request could be claimed one after another.

    It tells how many fit now, and how many if nothing were used; and of each resource class how
    much is free in the whole cloud, and how much of that this request can use.

    The formats text (the default), json and yaml have all of it; table, csv and value have a row
    for each resource class.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        candidate_request.add_options(parser)
        return parser

    def ask(self, parsed_args: argparse.Namespace) -> base.Shown:
        with base.asking(self, 'computing the capacity') as service:
            asked = candidate_request.from_options(parsed_args, service, self.app.client_manager)
            answer = service.at(asked.version).ask(PATH, asked.query)
        rows = [[one[name] for name in FRAGMENTATION] for one in answer['fragmentation']]
        text = [*base.with_notes(asked.notes, _lines(answer, rows))]
        return base.Shown(answer, text, FRAGMENTATION, rows)


def _lines(answer: Any, rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """The counts, and what of each class is free and of use."""
    yield from wrapped(f'Fits {_times(answer["now"])} now, {_times(answer["if_empty"])} if empty.')
    yield ''
    names = (name.replace('_', ' ') for name in FRAGMENTATION)
    for name, *numbers in itertools.chain([names], rows):
        yield f'{name:24}' + ''.join(
            f'{one:>14}' if isinstance(one, str) else f'{one:>14,}' for one in numbers
        )


def _times(count: Any) -> str:
    least, most = count['at_least'], count['at_most']
    if least == most:
        return f'{least:,} {"time" if least == 1 else "times"}'
    return f'{least:,} to {most:,} times'


class ListCapacity(command.Lister):
    """List how many consumers of a request could be claimed in each tree, or of each flavor.

    In each row nothing is claimed by the others: where trees share providers, the rows do not add
    up. Trees that could not serve the request if they were empty are left out. With --all-flavors
    there is a row for what nova asks for a server of each flavor.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        candidate_request.add_options(parser)
        parser.add_argument(
            '--all-flavors',
            action='store_true',
            help='a row for each flavor that nova shows to you, instead of one for each tree',
        )
        parser.add_argument(
            '--all-trees',
            action='store_true',
            help='also the trees that could not serve the request if they were empty',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        manager = self.app.client_manager
        with base.asking(self, 'computing capacities') as service:
            if parsed_args.all_flavors:
                _check_nothing_else_is_asked(parsed_args)
                asked = {
                    flavor.name: candidate_request.of_flavor(flavor, parsed_args.boot_from_volume)
                    for flavor in candidate_request.list_flavors(manager)
                }
                rows = [*_of_requests(service, asked)]
                return ('flavor', *COUNTS, 'note'), cells.as_shown(rows, parsed_args.formatter)
            one = candidate_request.from_options(parsed_args, service, manager)
            for note in one.notes:
                self.log.warning(note)
            trees = _of_trees(service.at(one.version), one)
        rows = [row for row in trees if parsed_args.all_trees or row[-1]]
        return ('tree', *COUNTS), cells.as_shown(rows, parsed_args.formatter)


def _check_nothing_else_is_asked(parsed_args: argparse.Namespace) -> None:
    named = (parsed_args.flavor, parsed_args.request, parsed_args.query)
    if any(named) or getattr(parsed_args, 'groups', None):
        raise exceptions.CommandError(
            f'--all-flavors says what is asked for; leave out {candidate_request.OPTIONS}.'
        )


def _of_trees(service: Service, asked: CandidateRequest) -> Sequence[Sequence[Any]]:
    """A row for each tree, ordered by its name."""
    query = [*asked.query, ('by', 'root'), ('page_limit', str(PAGE))]
    trees = itertools.chain.from_iterable(page['trees'] for page in service.pages(PATH, query))
    return sorted((tree['root']['name'] or tree['root']['uuid'], *_counts(tree)) for tree in trees)


def _counts(capacity: Any) -> list[int]:
    return [
        capacity[when][bound] for when in ('now', 'if_empty') for bound in ('at_least', 'at_most')
    ]


def _of_requests(service: Service, asked: dict[str, CandidateRequest]) -> Iterator[Sequence[Any]]:
    """A row for each request by its name, with what it does not tell or why there is no answer."""
    left = iter(asked.items())
    while batch := dict(itertools.islice(left, REQUESTS)):
        capacities, refused = _ask(service, batch)
        for name, one in batch.items():
            if name in capacities:
                yield name, *_counts(capacities[name]), '; '.join(one.notes[1:])
            else:
                yield name, *[None] * len(COUNTS), refused[name]


def _ask(
    service: Service, asked: dict[str, CandidateRequest]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The capacities by name, and why those that the service refuses have none."""
    wanted = {name: urllib.parse.urlencode(one.query) for name, one in asked.items()}
    refused: dict[str, str] = {}
    while wanted:
        try:
            body = {'requests': wanted}
            return service.send('POST', PATH, body=body, repeatable=True)['capacities'], refused
        except Refused as error:
            # The service names the request that it refuses, and answers none of the others.
            names = [name for name in wanted if str(error).startswith(f'Request {name}: ')]
            if error.status != 400 or not names:
                raise
            name = max(names, key=len)
            refused[name] = str(error)
            del wanted[name]
    return {}, refused
