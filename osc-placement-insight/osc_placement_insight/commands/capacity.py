# SPDX-License-Identifier: Apache-2.0
"""The command that counts the consumers of a request that could be claimed."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from osc_lib import exceptions
from osc_lib.command import command

from osc_placement_insight import candidate_request, cells, owner
from osc_placement_insight.candidate_request import CandidateRequest
from osc_placement_insight.commands import base
from osc_placement_insight.layout import wrapped
from osc_placement_insight.named_requests import ask_without_refused
from osc_placement_insight.service import Service
from osc_placement_insight.what_if import outcome, steps
from osc_placement_insight.what_if.names import Names
from osc_placement_insight.what_if.steps import Step

PATH = '/insight/capacity'
#: How many trees one page has, and how many requests one question may have.
PAGE = 1000
REQUESTS = 100

FRAGMENTATION = ('resource_class', 'capacity', 'used', 'free', 'usable')
#: The rows of an answer: how many times the request fits, and then of each resource class.
ROWS = ('of', 'at_least', 'at_most', *FRAGMENTATION[1:])
COUNTS = ('now_at_least', 'now_at_most', 'if_empty_at_least', 'if_empty_at_most')
BEFORE = tuple(f'before_{name}' for name in COUNTS)
#: Name of the request in the query to the service.
THE_REQUEST = 'the request'


@base.example('placement capacity show --resource VCPU=4 --resource MEMORY_MB=8192')
class ShowCapacity(base.AnswerCommand):
    """Show how many consumers of a request could be claimed one after another.

    The answer has how many fit now, and how many if nothing were used; and for each resource class
    how much is free in the whole cloud, and how much of that this request can use.

    With options of a scenario it has the numbers before and after the scenario.

    The formats text (the default), json and yaml have all of it; table, csv and value have a row
    for each of the counts, and then one for each resource class.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        candidate_request.add_options(parser)
        steps.add_options(parser)
        return parser

    def ask(self, parsed_args: argparse.Namespace) -> base.Shown:
        manager = self.app.client_manager
        with base.asking(self, 'computing the capacity') as service:
            names = Names(manager)
            asked = candidate_request.from_options(parsed_args, service, manager, names.aggregate)
            scenario = steps.of_options(parsed_args, names)
            answer = _ask_about(service.at(asked.version), asked, scenario)
        rows = [[one[name] for name in FRAGMENTATION] for one in answer['fragmentation']]
        lines = itertools.chain(_lines(answer, rows), outcome.lines(scenario, answer))
        text = [*base.with_notes(asked.notes, lines)]
        return base.Shown(answer, text, ROWS, [*_rows(answer, rows)])


def _rows(answer: Any, classes: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    """The counts now and for an empty cloud, then the free amount of each class."""
    counted = {'': answer, **({'before ': answer['before']} if 'before' in answer else {})}
    for prefix, capacity in counted.items():
        for when in ('now', 'if_empty'):
            bounds = capacity[when]
            yield f'{prefix}{when}', bounds['at_least'], bounds['at_most'], *[None] * 4
    yield from ((name, None, None, *amounts) for name, *amounts in classes)


def _ask_about(service: Service, asked: CandidateRequest, scenario: Sequence[Step]) -> Any:
    """The capacity of a request, and after a scenario also that `before`."""
    if not scenario:
        return service.ask(PATH, asked.query)
    body = {'requests': {THE_REQUEST: asked.text}, 'scenario': steps.bodies(scenario)}
    answer = service.ask_about(PATH, body)
    capacities, before = answer.pop('capacities'), answer.pop('before')
    return {**capacities[THE_REQUEST], 'before': before[THE_REQUEST], **answer}


def _lines(answer: Any, rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """The counts, and what of each class is free and of use."""
    yield from wrapped(f'Fits {_both(answer)}.')
    if 'before' in answer:
        yield from wrapped(f'Before the scenario: {_both(answer["before"])}.')
    yield ''
    names = (name.replace('_', ' ') for name in FRAGMENTATION)
    for name, *numbers in itertools.chain([names], rows):
        yield f'{name:24}' + ''.join(
            f'{one:>14}' if isinstance(one, str) else f'{one:>14,}' for one in numbers
        )


def _both(capacity: Any) -> str:
    return f'{_times(capacity["now"])} now, {_times(capacity["if_empty"])} if empty'


def _times(count: Any) -> str:
    least, most = count['at_least'], count['at_most']
    if least == most:
        return f'{least:,} {"time" if least == 1 else "times"}'
    return f'{least:,} to {most:,} times'


@base.example('placement capacity list --flavor m1.large')
class ListCapacity(command.Lister):
    """List how many consumers of a request could be claimed in each tree, or of each flavor.

    In each row nothing is claimed by the others: where trees share providers, the rows do not add
    up. Trees that could not serve the request if they were empty are left out. With --all-flavors
    there is a row for what nova asks for a server of each flavor, also after a scenario.
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
        steps.add_options(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        with base.asking(self, 'computing capacities') as service:
            if parsed_args.all_flavors:
                return self._list_flavors(parsed_args, service)
            return self._list_trees(parsed_args, service)

    def _list_flavors(
        self, parsed_args: argparse.Namespace, service: Service
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        _check_nothing_else_is_asked(parsed_args)
        manager = self.app.client_manager
        is_owned = owner.is_required(service)
        asked = {
            flavor.name: candidate_request.of_flavor(
                flavor, parsed_args.boot_from_volume, is_owned
            )
            for flavor in candidate_request.list_flavors(manager)
        }
        scenario = steps.of_options(parsed_args, Names(manager))
        rows = [*_of_requests(service, asked, scenario)]
        columns = ('flavor', *COUNTS, *(BEFORE if scenario else ()), 'note')
        return columns, cells.as_shown(rows, parsed_args.formatter)

    def _list_trees(
        self, parsed_args: argparse.Namespace, service: Service
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        manager = self.app.client_manager
        names = Names(manager)
        if steps.of_options(parsed_args, names):
            raise exceptions.CommandError(
                'After a scenario, capacities are not known by tree: use --all-flavors, or '
                '"openstack placement capacity show".'
            )
        one = candidate_request.from_options(parsed_args, service, manager, names.aggregate)
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


def _of_requests(
    service: Service, asked: dict[str, CandidateRequest], scenario: Sequence[Step]
) -> Iterator[Sequence[Any]]:
    """A row for each request by name, with its restrictions or the reason for no answer."""
    left = iter(asked.items())
    while batch := dict(itertools.islice(left, REQUESTS)):
        answer, refused = _ask(service, batch, scenario)
        parts = [answer['capacities'], *([answer['before']] if scenario else [])]
        for name, one in batch.items():
            if name in refused:
                yield name, *[None] * len(COUNTS) * len(parts), refused[name]
            else:
                counts = itertools.chain.from_iterable(_counts(part[name]) for part in parts)
                yield name, *counts, '; '.join(one.notes[1:])


def _ask(
    service: Service, asked: dict[str, CandidateRequest], scenario: Sequence[Step]
) -> tuple[Any, dict[str, str]]:
    """The answer about requests by name, and why those that the service refuses have none."""
    after = {'scenario': steps.bodies(scenario)} if scenario else {}

    def ask(wanted: Mapping[str, str]) -> Any:
        if not wanted:
            return {'capacities': {}, 'before': {}}
        return service.ask_about(PATH, {'requests': wanted, **after})

    return ask_without_refused({name: one.text for name, one in asked.items()}, ask)
