# SPDX-License-Identifier: Apache-2.0
"""What is missing in the subtree that comes closest to `same_subtree`."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from placement.search.insight.missing import missing_part
from placement.search.insight.survey import Survey
from placement.search.model.provider import Provider
from placement.search.model.tree import Tree


class Lacking(NamedTuple):
    """A provider that would serve a group of the subtree if it had more of this class."""

    group: int
    provider: Provider
    resource_class: str


def lacking_in_subtree(
    survey: Survey, tree: Tree, suffixes: Collection[str]
) -> tuple[Lacking, ...]:
    """What the groups of a `same_subtree` lack below the provider that comes closest to it.

    That is a member of the tree that serves one of them, with providers below it that serve as
    many of the others as possible. Of several the one is chosen that lacks least. Groups that
    fail something else than an amount there are left out.
    """
    serving = _Serving(survey, tree, suffixes)
    found: list[tuple[int, float, int, tuple[Lacking, ...]]] = []
    for top in range(len(tree.members)):
        survey.work.spent += len(tree.members)
        if not serving.groups_at(top):
            continue
        members = [n for n in range(len(tree.members)) if serving.is_within(n, top)]
        served = set[int]().union(*(serving.groups_at(member) for member in members))
        lacking = [tuple(serving.lacking(group, members)) for group in serving.groups - served]
        distance = sum(
            missing_part(one.provider, one.resource_class, serving.amount(one))
            for of_group in lacking
            for one in of_group
        )
        # A group that has no such class there lacks all of it.
        distance += sum(not of_group for of_group in lacking)
        found.append((-len(served), distance, top, tuple(one for many in lacking for one in many)))
    return min(found, default=(0, 0.0, 0, ()))[3]


class _Serving:
    """Which groups the members of a tree can serve."""

    def __init__(self, survey: Survey, tree: Tree, suffixes: Collection[str]) -> None:
        table = survey.table
        self._survey, self._tree = survey, tree
        # Groups with a suffix are one provider request each.
        self._requests = {
            group: number
            for number, group in enumerate(table.group_of)
            if table.groups[group].group.suffix in suffixes
        }
        self.groups = set(self._requests)
        self._elements = [survey.elements_of_member(tree, n) for n in range(len(tree.members))]
        self.is_within = tree.shape.structure.ancestry.is_within

    def groups_at(self, member: int) -> set[int]:
        """The groups that a member can serve."""
        return {group for group in self._requests if self._fails(member, group) == 0}

    def amount(self, one: Lacking) -> int:
        """How much of the class its group asks for."""
        return self._survey.table.groups[one.group].amounts[one.resource_class].amount

    def lacking(self, group: int, members: Sequence[int]) -> Iterator[Lacking]:
        """What the member lacks, of these, that would serve the group with the smallest change."""
        bits = self._survey.table.groups[group].amounts.values()
        of_amounts = sum(one.size | one.free for one in bits)
        providers = [
            self._tree.members[member]
            for member in members
            if not self._fails(member, group) & ~of_amounts
        ]
        lacks = [
            [
                (
                    missing_part(provider, one.resource_class, one.amount),
                    provider,
                    one.resource_class,
                )
                for one in bits
            ]
            for provider in providers
        ]
        for part, provider, name in min(
            lacks, key=lambda one: sum(p for p, *_ in one), default=()
        ):
            if part > 0:
                yield Lacking(group, provider, name)

    def _fails(self, member: int, group: int) -> int:
        """The fewest conditions that a member fails of a group."""
        visible = self._survey.table.visible
        masks = [mask & visible for mask, _ in self._elements[member][self._requests[group]]]
        return min(masks, key=int.bit_count)
