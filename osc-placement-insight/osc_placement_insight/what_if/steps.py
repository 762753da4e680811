# SPDX-License-Identifier: Apache-2.0
"""The steps of a scenario, by options of the command line in the order in which they are given."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from osc_lib import exceptions

from osc_placement_insight import files
from osc_placement_insight.flavors import DISABLED
from osc_placement_insight.what_if.names import Names


class Step(NamedTuple):
    """A step in the service's format, and its display name."""

    label: str
    body: Mapping[str, Any]


class Option(NamedTuple):
    """An option that is a step: the form of its value, and its help."""

    metavar: str
    form: str
    help: str
    make: Callable[[Names, Mapping[str, str]], Mapping[str, Any]]


class AddStep(argparse.Action):
    """Adds an option to the steps, in the order of the options."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        namespace.steps = [*_given(namespace), (self.dest, values)]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that are steps of a scenario."""
    group = parser.add_argument_group(
        'what if: steps, taken in the order given; nothing is written. <where> is a host (UUID or '
        'name), or @<aggregate>, which is a UUID or the name of a zone or an aggregate in nova'
    )
    for name, option in OPTIONS.items():
        group.add_argument(
            f'--{name}',
            metavar=option.metavar,
            type=_checked(option),
            action=AddStep,
            default=argparse.SUPPRESS,
            help=option.help,
        )
    group.add_argument(
        f'--{FILE}',
        metavar='<file>',
        action=AddStep,
        default=argparse.SUPPRESS,
        help='a list of steps as the service takes them, in YAML or JSON; - is standard input',
    )


def _checked(option: Option) -> Callable[[str], Mapping[str, str]]:
    """The parts of a value that has the form of an option.

    :raises argparse.ArgumentTypeError: the value has another form
    """

    def parts(text: str) -> Mapping[str, str]:
        match = re.fullmatch(option.form, text)
        if match is None:
            raise argparse.ArgumentTypeError(f'{text!r} is not of the form {option.metavar}')
        return {'text': text, **match.groupdict()}

    return parts


def added(host: str, count: int) -> Step:
    """Add a number of hosts like this one."""
    return Step(f'add {host}={count}', {'add': {'like': host, 'count': count}})


def claimed(flavor: str, query: str, count: int) -> Step:
    """Claim a number of servers of a flavor with this query."""
    return Step(f'claim {flavor}={count}', {'claim': {'query': query, 'count': count}})


def of_options(parsed_args: argparse.Namespace, names: Names) -> list[Step]:
    """The steps of the options, in their order.

    :raises osc_lib.exceptions.CommandError: a name is of nothing, or a file cannot be read
    """
    steps = list[Step]()
    for option, value in _given(parsed_args):
        if option == FILE:
            steps += _of_file(value)
        else:
            body = OPTIONS[option].make(names, value)
            steps.append(Step(f'{option} {value["text"]}', body))
    return steps


def bodies(steps: Sequence[Step]) -> list[Mapping[str, Any]]:
    """The steps as the service takes them."""
    return [step.body for step in steps]


def _given(namespace: argparse.Namespace) -> Sequence[tuple[str, Any]]:
    """The options that are steps, with their values."""
    given: Sequence[tuple[str, Any]] = getattr(namespace, 'steps', ())
    return given


def _of_file(name: str) -> list[Step]:
    steps = files.read(name)
    if not isinstance(steps, list) or not all(isinstance(step, dict) and step for step in steps):
        raise exceptions.CommandError(
            f'{name} is not a list of steps, such as [{{"remove": ["host1"]}}].'
        )
    return [Step(f'{next(iter(step))} of {name}', step) for step in steps]


def _remove(names: Names, value: Mapping[str, str]) -> Mapping[str, Any]:
    return {'remove': names.where(value['where'])}


def _add(names: Names, value: Mapping[str, str]) -> Mapping[str, Any]:
    arguments: dict[str, Any] = {'like': value['host'], 'count': int(value['count'])}
    if value['aggregate'] is not None:
        arguments['member_of'] = [names.aggregate(value['aggregate'])]
    return {'add': arguments}


def _change_ratio(names: Names, value: Mapping[str, str]) -> Mapping[str, Any]:
    inventories = {value['resource_class']: {'allocation_ratio': float(value['ratio'])}}
    return {
        'change': {'where': names.aggregate_or_host(value['where']), 'inventories': inventories}
    }


def _changing_status(change: str) -> Callable[[Names, Mapping[str, str]], Mapping[str, Any]]:
    def make(names: Names, value: Mapping[str, str]) -> Mapping[str, Any]:
        return {'change': {'where': names.where(value['where']), 'traits': {change: [DISABLED]}}}

    return make


def _release(names: Names, value: Mapping[str, str]) -> Mapping[str, Any]:
    return {'release': {'consumers': [names.server(value['server'])]}}


def _claim(names: Names, value: Mapping[str, str]) -> Mapping[str, Any]:
    return {'claim': {'query': names.query(value['flavor']), 'count': int(value['count'])}}


FILE = 'scenario'
_WHERE = '(?P<where>.+)'
_COUNT = '(?P<count>[1-9][0-9]{0,5})'
OPTIONS: Mapping[str, Option] = {
    'remove': Option('<where>', _WHERE, 'without these hosts, and what is used there', _remove),
    'add': Option(
        '<host>=<count>[@<aggregate>]',
        f'(?P<host>[^=]+)={_COUNT}(@(?P<aggregate>.+))?',
        'empty and enabled copies of this host; in this aggregate only, or in those of the host',
        _add,
    ),
    'ratio': Option(
        '<resource_class>=<ratio>@<aggregate or host>',
        f'(?P<resource_class>[A-Z0-9_]+)=(?P<ratio>[0-9]+(\\.[0-9]+)?)@{_WHERE}',
        'another allocation ratio',
        _change_ratio,
    ),
    'disable': Option('<where>', _WHERE, 'these hosts take nothing new', _changing_status('add')),
    'enable': Option('<where>', _WHERE, 'these hosts take servers', _changing_status('remove')),
    'release': Option(
        '<server>', '(?P<server>.+)', 'without this server (UUID, or its name in nova)', _release
    ),
    'claim': Option(
        '<flavor>=<count>',
        f'(?P<flavor>[^=]+)={_COUNT}',
        'with so many more servers of this flavor, as far as they fit',
        _claim,
    ),
}
