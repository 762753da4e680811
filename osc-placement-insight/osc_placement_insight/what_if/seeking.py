# SPDX-License-Identifier: Apache-2.0
"""Numbers that are sought: how many hosts to buy, how many servers to sell."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from osc_placement_insight.layout import counted
from osc_placement_insight.what_if import steps
from osc_placement_insight.what_if.steps import Step

#: How many hosts can be added, and how many servers claimed, by one scenario.
MOST_BOUGHT = 1_000
MOST_SOLD = 10_000

#: Whether every loss is survived after some more steps, all of whose servers find a place.
Survives = Callable[[list[Step]], bool]


class Found(NamedTuple):
    """A number by its name in the answer, its message, and the steps of that number.

    `number` is None if none was found.
    """

    member: str
    number: int | None
    words: str
    steps: list[Step]


def buy(host: str, survives: Survives) -> Found:
    """The fewest hosts like this one with which every loss is survived."""

    def bought(count: int) -> list[Step]:
        return [steps.added(host, count)] if count else []

    number = least(lambda count: survives(bought(count)), MOST_BOUGHT)
    if number is None:
        words = f'Not even {MOST_BOUGHT:,} more hosts like {host} are enough.'
    elif number:
        fewer = f'with {number - 1:,}' if number > 1 else 'without it'
        words = (
            f'With {counted(number, "more host")} like {host} every loss would be survived, '
            f'{fewer} not.'
        )
    else:
        words = 'Nothing has to be bought: every loss would be survived.'
    return Found('buy', number, words, bought(MOST_BOUGHT if number is None else number))


def sell(flavor: str, query: str, survives: Survives) -> Found:
    """The most servers of a flavor that can be added while every loss is survived."""

    def sold(count: int) -> list[Step]:
        return [steps.claimed(flavor, query, count)] if count else []

    too_many = least(lambda count: not survives(sold(count)), MOST_SOLD)
    if too_many == 0:
        return Found('sell', None, 'Nothing can be sold: not every loss is survived now.', [])
    number = MOST_SOLD if too_many is None else too_many - 1
    words = f'With {counted(number, "more server")} of {flavor} every loss would be survived'
    words += ', and perhaps with more.' if too_many is None else f', with {too_many:,} not.'
    return Found('sell', number, words, sold(number))


def least(holds: Callable[[int], bool], most: int) -> int | None:
    """The least number for which something holds that holds for all larger ones; None where it
    does not for `most`."""
    if holds(0):
        return 0
    fails, number = 0, 1
    while not holds(number):
        if number == most:
            return None
        fails, number = number, min(2 * number, most)
    while number - fails > 1:
        middle = (fails + number) // 2
        if holds(middle):
            number = middle
        else:
            fails = middle
    return number
