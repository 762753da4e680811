# SPDX-License-Identifier: Apache-2.0
"""Who is above whom in a tree, in a memory and a time that grow with its members alone."""

from collections.abc import Sequence


class Ancestry:
    """Tells of any two positions of a forest whether one is the other or an ancestor of it.

    `parents` holds the position of each parent, -1 for none. Positions are numbered from the tops
    downwards, each before what lies beneath it, so what lies beneath one has successive numbers.
    A circle of parents cannot be written through the API; should rows hold one, it is cut open at
    its first position.
    """

    __slots__ = ('_first', '_last', 'upwards')

    def __init__(self, parents: Sequence[int] = ()) -> None:
        downwards = _downwards(parents)
        self.upwards: Sequence[int] = downwards[::-1]
        self._first = [0] * len(parents)
        for number, position in enumerate(downwards):
            self._first[position] = number
        self._last = list(self._first)
        for position in self.upwards:
            parent = parents[position]
            if parent >= 0 and self._first[parent] < self._first[position]:
                self._last[parent] = max(self._last[parent], self._last[position])

    def is_within(self, position: int, top: int) -> bool:
        """Whether `top` is this position or an ancestor of it."""
        first = self._first
        return first[top] <= first[position] <= self._last[top]


def _downwards(parents: Sequence[int]) -> list[int]:
    """Every position, each after its parent and before what lies beneath others."""
    children: list[list[int]] = [[] for _ in parents]
    tops: list[int] = []
    for position, parent in enumerate(parents):
        (tops if parent < 0 else children[parent]).append(position)
    order: list[int] = []
    seen = [False] * len(parents)
    # After the tops whoever is left: those lie in a circle, or beneath one.
    for top in (*tops, *range(len(parents))):
        stack = [top]
        while stack:
            position = stack.pop()
            if not seen[position]:
                seen[position] = True
                order.append(position)
                stack.extend(reversed(children[position]))
    return order
