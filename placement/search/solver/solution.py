# SPDX-License-Identifier: Apache-2.0
"""One way to serve a request in trees of one structure, and whether a tree has room for it."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from placement.search.model.kind import ProviderKind
from placement.search.model.provider import Provider
from placement.search.model.tree import Usage
from placement.search.solver.layout import Candidate, Layout

# (slot, position of the class, most that may be used of it).
Check = tuple[int, int, int]


class Taking(NamedTuple):
    """What a solution takes of one class from one member of the tree.

    `amounts` are those of the provider requests that it serves, `total` is their sum.
    """

    slot: int
    position: int
    total: int
    amounts: tuple[int, ...]


class Solution(NamedTuple):
    """A layout and the slot of each of its providers.

    `is_all_shared` tells whether sharing providers alone serve the request, so that other trees
    may have the same solution.
    """

    layout: Layout
    slots: tuple[int, ...]
    is_all_shared: bool

    def candidate(self, providers: Sequence[Provider]) -> Candidate:
        """The candidate with these providers in the slots."""
        return Candidate(self.layout, tuple([providers[slot] for slot in self.slots]))


def checks_of(
    takings: Iterable[Taking], kinds: Sequence[ProviderKind]
) -> tuple[Check, ...] | None:
    """What usage has to be compared with where so much is taken from members of these kinds; None
    where they could not serve it if nothing were used."""
    checks = []
    for slot, position, total, amounts in takings:
        capacity = kinds[slot].capacities[position]
        if total > capacity.largest:
            return None
        for amount in amounts:
            if amount < capacity.min_unit or (
                capacity.step_size > 1 and amount % capacity.step_size
            ):
                return None
        checks.append((slot, position, capacity.ceiling - total))
    return tuple(checks)


def fits(checks: Iterable[Check], usage: Usage) -> bool:
    """Whether no more is used than the checks allow."""
    # Asked of every tree: a generator for `all` would take twice as long.
    for slot, position, most_used in checks:  # noqa: SIM110
        if usage[slot][position] > most_used:
            return False
    return True
