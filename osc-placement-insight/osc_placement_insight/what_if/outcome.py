# SPDX-License-Identifier: Apache-2.0
"""The outcome of the steps of a scenario, as text."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from osc_placement_insight.layout import counted, section, wrapped
from osc_placement_insight.what_if.steps import Step

Answer = Mapping[str, Any]


def lines(steps: Sequence[Step], answer: Answer) -> Iterator[str]:
    """The outcome of the steps, and providers over capacity; nothing without steps."""
    if steps:
        yield from of_steps(steps, answer)
        yield from over_capacity(answer)


def of_steps(steps: Sequence[Step], answer: Answer) -> Iterator[str]:
    """A line for each step; nothing without steps."""
    numbered = enumerate(zip(steps, answer.get('scenario', ()), strict=True), 1)
    parts = [_of_step(number, step, row) for number, (step, row) in numbered]
    yield from section('Scenario:', itertools.chain.from_iterable(parts))


def over_capacity(answer: Answer) -> Iterator[str]:
    """The providers that are over capacity afterwards, if any."""
    over = answer['over_capacity']
    yield from section(
        f'Over capacity after it: {counted(over["count"], "provider")}',
        [line for provider in over['providers'] for line in _over(provider)],
    )


def _of_step(number: int, step: Step, row: Answer) -> list[str]:
    return wrapped(f'{step.label}: {_words(step, row)}', first=f'  {number}. ')


def _words(step: Step, row: Answer) -> str:
    if row['trees'] is not None:
        return counted(row['trees'], 'tree')
    if row['claimed'] is not None:
        words = f'{row["claimed"]:,} of {step.body["claim"]["count"]:,} find a place'
        return f'{words}. {row["summary"]}' if row['summary'] else words
    gone = f', {row["gone"]:,} hold nothing' if row['gone'] else ''
    return f'{counted(row["consumers"], "consumer")} released{gone}'


def _over(provider: Answer) -> list[str]:
    amounts = (
        f'{name} {each["used"]:,} of {each["capacity"]:,}'
        for name, each in provider['resources'].items()
    )
    return wrapped(f'{provider["name"] or provider["uuid"]}: {", ".join(amounts)}', first='  ')
