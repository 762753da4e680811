# SPDX-License-Identifier: Apache-2.0
"""An explanation as text and as rows.

Specification: insight, "GET /insight/allocation_candidates".
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from osc_placement_insight.layout import section, wrapped

Answer = Mapping[str, Any]

COLUMNS = ('group', 'condition', 'trees_before', 'trees_after', 'only')
#: The group of conditions that concern all groups together.
TOGETHER = 'all groups'
#: Reasons that are the name of the unit which refuses an amount.
UNITS = ('min_unit', 'max_unit', 'step_size')
#: The verdicts of the service as they are called for people, on the page too.
VERDICTS = {
    'fits': 'fits',
    'full': 'full now',
    'infeasible': 'never fits',
    'unknown': 'not decided',
    'refused': 'refused',
}
#: The columns of the counts in the text.
HEADER = '  trees    only  condition'


def rows(answer: Answer) -> Iterator[tuple[Any, ...]]:
    """A row for each condition, in the order of testing, with `COLUMNS`."""
    for group in answer['groups']:
        yield from (_row(group_name(group['suffix']), step) for step in group['funnel'])
    yield from (_row(TOGETHER, step) for step in answer['combination'])


def _row(group: str, step: Answer) -> tuple[Any, ...]:
    counts = (step[name] for name in COLUMNS[2:])
    return (group, step['condition']['words'], *counts)


def lines(answer: Answer) -> Iterator[str]:
    """The verdict, how many trees each condition left, the nearest trees, and what would help.

    Conditions that turned nothing away are left out.
    """
    yield from wrapped(answer['summary'])
    if answer['provider']:
        yield from section('This tree:', _report(answer['provider']))
    for group in answer['groups']:
        passing = [f'  Every tree can serve it ({answer["examined"]:,} examined).']
        funnel = [*_funnel(group['funnel'], answer['examined'])]
        yield from section(_group_title(group), funnel or passing)
    yield from section('All groups together:', _funnel(answer['combination'], answer['examined']))
    if answer['verdict'] != 'fits':
        yield from section('Nearest trees:', _each(_report, answer['nearest']))
    helpful = (_bullet(one['words']) for one in answer['relaxations'])
    yield from section('What would help:', itertools.chain.from_iterable(helpful))


def group_name(suffix: str) -> str:
    """The display name of a request group, with or without a suffix."""
    return f'group {suffix}' if suffix else 'unsuffixed group'


def _group_title(group: Answer) -> str:
    name = group_name(group['suffix'])
    return f'{name[0].upper()}{name[1:]}: {", ".join(_wanted(group))}'


def _wanted(group: Answer) -> Iterator[str]:
    yield from (f'{name}:{amount}' for name, amount in group['resources'].items())
    yield from (' or '.join(names) for names in group['required'])
    yield from (f'not {name}' for name in group['forbidden'])
    yield from (f'in aggregate {" or ".join(names)}' for names in group['member_of'])
    yield from (f'not in aggregate {name}' for name in group['forbidden_aggregates'])
    if group['in_tree']:
        yield f'in the tree of {group["in_tree"]}'


def _funnel(steps: list[Answer], examined: int) -> Iterator[str]:
    """The number of trees left after each condition, and the number that lack only this."""
    deciding = [step for step in steps if step['trees_before'] > step['trees_after']]
    if not deciding:
        return
    yield HEADER
    yield f'{examined:>7,}          examined'
    for step in deciding:
        only = '' if step['only'] is None else f'{step["only"]:,}'
        yield from wrapped(
            step['condition']['words'], first=f'{step["trees_after"]:>7,} {only:>7}  '
        )


def _report(report: Answer) -> Iterator[str]:
    """The conditions that one tree fails."""
    yield f'  {_shown(report["root"])} ({VERDICTS[report["verdict"]]})'
    numbers = {(one['suffix'], one['resource_class']): one for one in report['missing']}
    for condition in report['failed']:
        about = [numbers.pop((condition['suffix'], name), None) for name in condition['names']]
        known = [one for one in about if one]
        words = map(_missing, known) if known else [condition['words']]
        yield from _each(_bullet, words)
    yield from _each(_bullet, map(_missing, numbers.values()))


def _each(lines_of: Callable[[Any], Iterable[str]], items: Iterable[Any]) -> Iterator[str]:
    """The lines of each item, one after the other."""
    return itertools.chain.from_iterable(map(lines_of, items))


def _missing(missing: Answer) -> str:
    """The numbers of an amount that a provider does not have."""
    name, reason = missing['resource_class'], missing['reason']
    group = f'group {missing["suffix"]}: ' if missing['suffix'] else ''
    asked, free, capacity = missing['asked'], missing['free'], missing['capacity']
    words = (
        f'{group}{name}: {asked} asked, {free} free of {capacity} ({missing["used"]} used, '
        f'{missing["reserved"]} reserved) on {_shown(missing["provider"])}'
    )
    return f'{words}, {reason} is {missing[reason]}' if reason in UNITS else words


def _bullet(text: str) -> list[str]:
    return wrapped(text, first='    - ')


def _shown(provider: Answer) -> str:
    """A provider by its name; the name of one that was just deleted is not known any more."""
    return str(provider['name'] or provider['uuid'])
