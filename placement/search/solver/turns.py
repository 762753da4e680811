# SPDX-License-Identifier: Apache-2.0
"""Whose turn it is: the order in which trees yield their candidates.

Streams hold candidates, and None whenever a slice of work was done without finding one. So a tree
that is hard to search holds nobody up: its next slice comes when others have had theirs.
"""

import collections
from collections.abc import Iterable, Iterator

from placement.search.solver.layout import Candidate

Stream = Iterator[Candidate | None]

# How many slices in turn a tree that has yielded nothing has, before the next such tree has its.
SLICES_IN_TURN = 32


def depth_first(trees: Iterable[Iterable[Candidate | None]]) -> Iterator[Candidate]:
    """All candidates of one tree before those of the next."""
    for stream in trees:
        for candidate in stream:
            if candidate is not None:
                yield candidate


def breadth_first(trees: Iterable[Iterable[Candidate | None]]) -> Iterator[Candidate]:
    """One candidate of each tree in turn.

    Holds no more trees than it has yielded candidates, and those that need more than a slice for
    their first: the next tree is opened when it is asked for.
    """
    waiting: list[Stream] = []
    hard = _HardTrees()
    for opened in trees:
        if isinstance(opened, tuple):
            yield from opened
            continue
        stream = iter(opened)
        for candidate in stream:
            if candidate is not None:
                yield candidate
                waiting.append(stream)
                break
            # A slice for a tree opened before, so that not all have begun and none has ended.
            hard.add(stream)
            decided = hard.next_slice()
            if decided is not None:
                yield decided[0]
                waiting.append(decided[1])
            break
    yield from _in_turn([*waiting, *hard.streams])


def _in_turn(waiting: list[Stream]) -> Iterator[Candidate]:
    while waiting:
        still_waiting = []
        for stream in waiting:
            for candidate in stream:
                if candidate is not None:
                    yield candidate
                still_waiting.append(stream)
                break
        waiting = still_waiting


class _HardTrees:
    """Trees that have had slices of work and yielded nothing yet, the one that is on first."""

    def __init__(self) -> None:
        self.streams: collections.deque[Stream] = collections.deque()
        self._slices = 0

    def add(self, stream: Stream) -> None:
        self.streams.append(stream)

    def next_slice(self) -> tuple[Candidate, Stream] | None:
        """Give the first of them a slice; its candidate, if it finds one, and then it is no
        longer among them."""
        stream = self.streams[0]
        self._slices += 1
        for candidate in stream:
            if candidate is not None:
                self._end_turn()
                return candidate, stream
            if self._slices >= SLICES_IN_TURN:
                self.streams.append(self._end_turn())
            return None
        self._end_turn()
        return None

    def _end_turn(self) -> Stream:
        self._slices = 0
        return self.streams.popleft()
