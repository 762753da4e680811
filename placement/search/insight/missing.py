# SPDX-License-Identifier: Apache-2.0
"""How much trees lack of what is asked for, to tell which come closest."""

from placement.search.insight.survey import Survey
from placement.search.insight.tree_masks import Outcome
from placement.search.model.provider import Provider
from placement.search.model.tree import Tree


class Missing:
    """What the trees of one outcome lack."""

    def __init__(self, survey: Survey, outcome: Outcome) -> None:
        self.survey = survey
        self._amounts: list[tuple[str, int]] = []
        failures = outcome.root.bit_count()
        for number, group in enumerate(survey.table.groups):
            failed = outcome.failed(number)
            failures += failed.bit_count()
            if failed:
                self._amounts += [
                    (bits.resource_class, bits.amount)
                    for bits in group.amounts.values()
                    if failed & (bits.size | bits.free)
                ]
        self._others = float(failures - len(self._amounts))

    def distance(self, tree: Tree) -> float:
        """How much a tree lacks: one for each condition, of amounts the part that is missing of
        the provider that has most of it."""
        distance, members = self._others, tree.members
        if len(members) == 1 and not self.survey.has_large_trees:
            for name, amount in self._amounts:
                distance += missing_part(members[0], name, amount)
            return distance
        slots = self.survey.slots(tree)
        self.survey.work.spent += len(slots)
        for name, amount in self._amounts:
            distance += min([missing_part(one, name, amount) for one in slots], default=1.0)
        return distance


def missing_part(provider: Provider, resource_class: str, amount: int) -> float:
    """The part of an amount that a provider lacks; all of it where it has no such inventory, or
    does not give such amounts."""
    kind = provider.kind
    position = kind.profile.position.get(resource_class)
    if position is None:
        return 1.0
    capacity = kind.capacities[position]
    room = capacity.ceiling - provider.used[position]
    if room > capacity.max_unit:
        room = capacity.max_unit
    if (
        room <= 0
        or amount < capacity.min_unit
        or (capacity.step_size > 1 and amount % capacity.step_size)
    ):
        return 1.0
    return (amount - room) / amount if amount > room else 0.0
