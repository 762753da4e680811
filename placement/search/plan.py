# SPDX-License-Identifier: Apache-2.0
"""What a request means for trees of one shape: who could serve which demand, and how they combine.

Trees of one shape differ in what is used only.  So the work is done once for a shape; for each
tree it remains to compare numbers.  Where the combinations of a shape are few, they are kept as
layouts and only checked against each tree; where they are many, each tree is searched with what it
has free.
"""

import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from placement.search.combine import Combiner, Problem, Wish
from placement.search.filters import Offer
from placement.search.groups import NOTHING, Terms
from placement.search.layout import Candidate, Layout, Layouts
from placement.search.provider import Kind, Provider
from placement.search.subtree import split_by_tops
from placement.search.tally import COMBINATION, ROOT, Reason, Tally
from placement.search.tree import Tree, Uses

# Up to this many combinations, of providers to demands, are worth keeping for a shape.
FEW = 64


class Option(NamedTuple):
    """A place that can serve a demand, while no more is used of it than `limits` say.

    Places count the members of the tree, then the sharing providers from outside.
    """

    place: int
    offer: Offer


class Plan:
    """A request laid over one shape.

    `outsiders` are the sharing providers of other trees that this shape is an anchor of.  What
    they have free is the same for every tree, so those in use are left out from the start.
    """

    def __init__(self, terms: Terms, tally: Tally, tree: Tree, chance: random.Random) -> None:
        self.terms = terms
        self.tally = tally
        self.shape = tree.shape
        self.chance = chance
        self.refusals: Counter[tuple[str, Reason]] = Counter()
        self.visits = 0
        self.outsiders = [
            provider
            for provider in terms.snapshot.sharing_with(self.shape.aggregates)
            if provider.root_id != tree.root_id
        ]
        self.options = self._options(tree)
        self.layouts = Layouts(iter(()))
        self.is_small = math.prod(map(len, self.options)) <= FEW
        if all(self.options):
            self.layouts = Layouts(self._layouts(self.options, None))

    @property
    def is_hopeless(self) -> bool:
        """Whether a tree of this shape could not serve the request if nothing of it were used."""
        return not self.layouts

    @property
    def needs_members(self) -> bool:
        """Whether the members of a tree have any part in it; without, all trees are the same."""
        size = len(self.shape.kinds)
        return any(option.place < size for options in self.options for option in options)

    def _options(self, tree: Tree) -> list[list[Option]]:
        if not self._suits_root(self.shape.kinds[0]):
            return [[]]
        return [
            [*self._own_options(number, tree), *self._outside_options(number, tree)]
            for number in range(len(self.terms.demands))
        ]

    def _suits_root(self, root: Kind) -> bool:
        request = self.terms.request
        if not request.root_required <= root.traits:
            self.refusals[ROOT, Reason.REQUIRED_TRAIT] += 1
            return False
        if not request.root_forbidden.isdisjoint(root.traits):
            self.refusals[ROOT, Reason.FORBIDDEN_TRAIT] += 1
            return False
        return True

    def _own_options(self, number: int, tree: Tree) -> Iterator[Option]:
        demand, kinds = self.terms.demands[number], self.shape.kinds
        suffix, spanning = demand.group.suffix, kinds[0].aggregates
        if demand.tree_id not in (None, tree.root_id):
            self.refusals[suffix, Reason.TREE] += len(kinds)
            return
        # The aggregates of the root span the tree, but for groups that one provider serves alone.
        spans = not demand.is_suffixed and demand.is_within(spanning)
        if not demand.is_suffixed and demand.is_barred_from(spanning):
            self.refusals[suffix, Reason.AGGREGATE] += len(kinds)
            return
        for place, kind in enumerate(kinds):
            offer = demand.verdict(kind)
            if isinstance(offer, Reason):
                self.refusals[suffix, offer] += 1
            elif spans or offer.is_member:
                yield Option(place, offer)
            else:
                self.refusals[suffix, Reason.AGGREGATE] += 1

    def _outside_options(self, number: int, tree: Tree) -> Iterator[Option]:
        demand = self.terms.demands[number]
        if not demand.is_suffixed and (
            demand.tree_id is not None or demand.is_barred_from(self.shape.kinds[0].aggregates)
        ):
            return
        for place, provider in enumerate(self.outsiders, len(self.shape.kinds)):
            offer = demand.verdict(provider.kind)
            if isinstance(offer, Reason):
                self.tally.add(demand.group.suffix, offer)
            elif demand.tree_id not in (None, provider.root_id):
                self.tally.add(demand.group.suffix, Reason.TREE)
            elif not offer.is_member:
                self.tally.add(demand.group.suffix, Reason.AGGREGATE)
            elif not offer.fits(provider.used):
                self.tally.add(demand.group.suffix, Reason.USED)
            else:
                yield Option(place, offer)

    def admits(self, uses: Uses) -> bool:
        """Whether every demand finds a place where this much is used; says nothing of all
        together."""
        size = len(uses)
        for number, options in enumerate(self.options):
            if not any(
                option.place >= size or option.offer.fits(uses[option.place]) for option in options
            ):
                self.tally.add(self.terms.demands[number].group.suffix, Reason.USED)
                return False
        return True

    def candidates(self, tree: Tree) -> Iterator[Candidate]:
        """Every candidate with this tree as anchor."""
        members = (*tree.members, *self.outsiders)
        for layout in self._fitting(tree.uses):
            yield Candidate(layout, tuple([members[place] for place in layout.places]))

    def _fitting(self, uses: Uses) -> Iterator[Layout]:
        if not self.is_small:
            size = len(uses)
            yield from self._layouts(
                [
                    [
                        option
                        for option in options
                        if option.place >= size or option.offer.fits(uses[option.place])
                    ]
                    for options in self.options
                ],
                uses,
            )
            return
        is_empty = True
        for layout in self._in_chosen_order():
            if layout.fits(uses):
                is_empty = False
                yield layout
        if is_empty:
            self.tally.add(COMBINATION, Reason.USED)

    def _in_chosen_order(self) -> Iterator[Layout]:
        if not self.terms.request.randomize:
            return iter(self.layouts)
        layouts = list(self.layouts)
        self.chance.shuffle(layouts)
        return iter(layouts)

    def _layouts(self, options: list[list[Option]], uses: Uses | None) -> Iterator[Layout]:
        """How the demands can lie over the shape, where nothing or this much is used of it."""
        if not all(options):
            return
        problem = self._problem(options, uses)
        parts = split_by_tops(problem, self.terms.constraints, self._lineage, self.tally)
        for part in parts:
            for combination in Combiner(part, self.tally).combinations():
                yield Layout(self.terms, self._kind, len(self.shape.kinds), combination)

    def _problem(self, options: list[list[Option]], uses: Uses | None) -> Problem:
        terms = self.terms
        places = [[option.place for option in of_demand] for of_demand in options]
        if terms.request.randomize:
            for of_demand in places:
                self.chance.shuffle(of_demand)
        wishes = [
            Wish(
                of_demand,
                terms.contested[number],
                terms.exclusive[number],
                self._gains(number, of_demand),
                self._homes(number),
            )
            for number, of_demand in enumerate(places)
        ]
        room = {
            (place, name): self._room(place, name, uses)
            for wish in wishes
            for name, _ in wish.amounts
            for place in wish.options
        }
        return Problem(wishes, room, goal=(1 << len(terms.collected)) - 1)

    def _gains(self, number: int, places: list[int]) -> Mapping[int, int]:
        """Which of the traits that the unsuffixed group collects each place would bring, as
        bits."""
        if not self.terms.collected or self.terms.demands[number].is_suffixed:
            return NOTHING
        return {place: self.terms.brought_by(self._kind(place)) for place in places}

    def _outsider(self, place: int) -> Provider | None:
        size = len(self.shape.kinds)
        return None if place < size else self.outsiders[place - size]

    def _kind(self, place: int) -> Kind:
        provider = self._outsider(place)
        return provider.kind if provider else self.shape.kinds[place]

    def _room(self, place: int, name: str, uses: Uses | None) -> int:
        kind, provider = self._kind(place), self._outsider(place)
        position = kind.position[name]
        if provider:
            used = provider.used[position]
        else:
            used = uses[place][position] if uses else 0
        return kind.capacities[position].room(used)

    def _homes(self, number: int) -> Sequence[int] | None:
        terms = self.terms
        if not terms.request.single_provider_per_tree or not terms.demands[number].amounts:
            return None
        # Any number will do for the tree itself that is no id of another one.
        own = [-1] * len(self.shape.kinds)
        return own + [provider.root_id for provider in self.outsiders]

    def _lineage(self, place: int) -> frozenset[int]:
        provider = self._outsider(place)
        if provider is None:
            return self.shape.lineages[place]
        tree = self.terms.snapshot.tree(provider.root_id)
        above = tree.shape.lineages[tree.members.index(provider)]
        ids = {tree.members[position].id for position in above}
        size = len(self.shape.kinds)
        return frozenset(
            number for number, other in enumerate(self.outsiders, size) if other.id in ids
        )
