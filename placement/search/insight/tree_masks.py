# SPDX-License-Identifier: Apache-2.0
"""What stands in the way of a tree, told by what stands in the way of its providers.

For each provider request a tree has the least that its providers fail: a provider that fails all
that another one fails, and more, makes no difference. Trees with the same of these are one
`Outcome`, however many they are, and every question about sets of conditions is asked of outcomes.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence

from placement.search.insight.conditions import ConditionTable
from placement.search.model.tree import Tree

# What providers fail of one provider request, and which collected traits they bring.
Elements = tuple[tuple[int, int], ...]
# For a tree of one provider the bits it fails of anything; else those that its root fails, and the
# elements of each provider request.
Key = int | tuple[int, tuple[Elements, ...]]

NOTHING_DROPPED: frozenset[int] = frozenset()


def least(elements: Iterable[tuple[int, int]]) -> Elements:
    """The elements without those that fail all that another one fails and bring no more."""
    kept: list[tuple[int, int]] = []
    # Fewer failures come first, so what was kept never has to go.
    for mask, gained in sorted(set(elements), key=lambda one: (one[0].bit_count(), one)):
        for other, brought in kept:
            if not other & ~mask and not gained & ~brought:
                break
        else:
            kept.append((mask, gained))
    if len(kept) > 1:
        # One of equal failures that brings more may have come later.
        kept = [one for one in kept if not _is_beaten(one, kept)]
    return tuple(sorted(kept))


def _is_beaten(one: tuple[int, int], others: Iterable[tuple[int, int]]) -> bool:
    mask, gained = one
    return any(
        other != one and not other[0] & ~mask and not gained & ~other[1] for other in others
    )


class Outcome:
    """All trees with the same key: `trees` of them, at least one."""

    __slots__ = ('_folded', 'parts', 'root', 'table', 'trees')

    def __init__(self, table: ConditionTable, key: Key, trees: list[Tree]) -> None:
        self.table = table
        self.trees = trees
        if isinstance(key, int):
            self.root, self.parts = _parts(table, key)
        else:
            self.root, self.parts = key
        self._folded: dict[tuple[int, frozenset[int]], tuple[int, ...]] = {}

    def masks(self, group: int, dropped: frozenset[int] = NOTHING_DROPPED) -> tuple[int, ...]:
        """The least that ways to serve a group fail, when the dropped provider requests, by
        number, are not asked for."""
        requests = self.table.requests_of[group]
        if dropped and dropped.isdisjoint(requests):
            dropped = NOTHING_DROPPED
        key = (group, dropped)
        masks = self._folded.get(key)
        if masks is None:
            parts = [self.parts[number] for number in requests if number not in dropped]
            collected = self.table.groups[group].collected if parts else 0
            masks = self._folded[key] = folded(parts, collected)
        return masks

    def passes(self, group: int, kept: int, dropped: frozenset[int] = NOTHING_DROPPED) -> bool:
        """Whether some way to serve a group fails none of these conditions."""
        # Asked for each outcome and each set of conditions: a generator would take longer.
        for mask in self.masks(group, dropped):  # noqa: SIM110
            if not mask & kept:
                return True
        return False

    def fits(self, kept: int, dropped: frozenset[int] = NOTHING_DROPPED) -> bool:
        """Whether every group, and the root, fails none of these conditions."""
        if self.root & kept:
            return False
        for group in range(len(self.table.groups)):  # noqa: SIM110
            if not self.passes(group, kept, dropped):
                return False
        return True

    def unserved(self, group: int, bit: int, kept: int = 0) -> Iterator[int]:
        """The provider requests of a group, by number, that somebody serves under the conditions
        `kept`, and nobody under one more. Traits that several may bring together do not count."""
        kept &= ~self.table.groups[group].collected
        for number in self.table.requests_of[group]:
            masks = [mask for mask, _ in self.parts[number] if not mask & kept]
            if masks and all(mask & bit for mask in masks):
                yield number

    def failed(self, group: int) -> int:
        """The conditions of a group that the way fails that fails fewest.

        Of several it is the one that fails later conditions: of a host whose children have a
        class, all of it used, nobody wants to be told that the root has none of it.
        """
        visible = self.table.visible
        masks = [mask & visible for mask in self.masks(group)]
        return min(masks, key=lambda mask: (mask.bit_count(), -mask), default=0)


def folded(parts: Sequence[Elements], collected: int) -> tuple[int, ...]:
    """The least that a way to serve all of these provider requests fails; none where one of them
    has no provider at all."""
    ways: Elements = ((0, 0),)
    for part in parts:
        ways = least(
            (mask | other, gained | brought)
            for (mask, gained), (other, brought) in itertools.product(ways, part)
        )
    return tuple([mask | (collected & ~gained) for mask, gained in ways])


def _parts(table: ConditionTable, mask: int) -> tuple[int, tuple[Elements, ...]]:
    """The parts of the key of a tree of one provider."""
    parts = []
    for request, number in zip(table.requests, table.group_of, strict=True):
        group = table.groups[number]
        common = group.common_bits
        for name in request.amounts:
            bits = group.amounts[name]
            common |= bits.present | bits.size | bits.free | bits.some
        gained = group.collected & ~mask
        parts.append((((mask & common), gained),))
    return mask & table.root_bits, tuple(parts)
