# SPDX-License-Identifier: Apache-2.0
"""Classes of which more is asked for than any one tree has, told by the bounds of blocks."""

from placement.search.explanation import Condition
from placement.search.solver.search_state import Search
from placement.search.solver.tally import Reason


def scarcest_in_trees(search: Search) -> Condition | None:
    """The class of which more is asked for, all in all, than any one tree has free."""
    for name, asked in search.resolved.totals.items():
        most_free = _most_in_tree(search, name)
        if asked > most_free:
            largest = _most_in_tree(search, name, ignores_usage=True)
            return Condition(Reason.USED, (f'{name} in one tree',), asked, largest, most_free)
    return None


def too_small_for_trees(search: Search) -> Condition | None:
    """The class of which more is asked for, all in all, than any one tree has when it is empty."""
    for name, asked in search.resolved.totals.items():
        largest = _most_in_tree(search, name, ignores_usage=True)
        if asked > largest and name not in search.shared_classes:
            return Condition(Reason.TOO_SMALL, (f'{name} in one tree',), asked, largest)
    return None


def _most_in_tree(search: Search, name: str, ignores_usage: bool = False) -> int:
    blocks = search.snapshot.blocks.values()
    search.work.spent += len(blocks)
    return max((block.room_in_tree(name, ignores_usage) for block in blocks), default=0)
