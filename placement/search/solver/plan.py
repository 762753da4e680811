# SPDX-License-Identifier: Apache-2.0
"""What a request means for trees of one shape: who could serve which demand, and how they combine.

Trees of one shape differ in what is used only.  So the work is done once for a shape; for each
tree it remains to compare numbers.  Where the combinations of a shape are few, they are kept and
only checked against each tree; where they are many, each tree is searched with what it has free.
"""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from placement.search.model.provider import Kind, Provider
from placement.search.model.tree import Tree, Uses
from placement.search.solver.combine import Combination, combinations
from placement.search.solver.filters import Demand
from placement.search.solver.layout import Candidate, Layout
from placement.search.solver.options import Option, Refusals, members_for, outsiders_for
from placement.search.solver.problem import Problem, Wish
from placement.search.solver.resolved_request import Terms
from placement.search.solver.slots import Stage
from placement.search.solver.tally import COMBINATION, ROOT, Reason

# Up to this many combinations, of providers to demands, are worth keeping for a shape.
FEW = 64

NOTHING: Mapping[int, int] = {}


class Arrangement(NamedTuple):
    """A layout on certain places.

    It fits where no more is used than `checks` say: (place, position of the class, most used).
    """

    layout: Layout
    places: tuple[int, ...]
    checks: tuple[tuple[int, int, int], ...]

    def fits(self, uses: Uses) -> bool:
        """Whether there is room for it where the members of a tree use this much."""
        for place, position, most_used in self.checks:
            if uses[place][position] > most_used:
                return False
        return True

    def candidate(self, standing: Sequence[Provider]) -> Candidate:
        """What it is with these providers at the places."""
        return Candidate(self.layout, tuple([standing[place] for place in self.places]))


class Plan:
    """A request laid over one shape.

    `refusals` counts why members of one such tree can never serve, `visits` how many there were.
    """

    def __init__(self, terms: Terms, tree: Tree) -> None:
        self.terms = terms
        self.stage = Stage(terms.snapshot, tree, terms.ignores_usage)
        self.refusals: Refusals = Counter()
        self.visits = 0
        self.options: Sequence[Sequence[Option]] = ((),)
        if self._suits_root(tree.shape.kinds[0]):
            self.options = [
                [
                    *members_for(demand, self.stage, tree.root_id, self.refusals),
                    *outsiders_for(demand, self.stage, self.refusals),
                ]
                for demand in terms.demands
            ]
        self.is_small = math.prod(map(len, self.options)) <= FEW
        self._found: list[Arrangement] = []
        self._rest = self._arrangements()

    @property
    def is_hopeless(self) -> bool:
        """Whether a tree of this shape could not serve the request if nothing of it were used."""
        return not self._has(1)

    @functools.cached_property
    def is_single(self) -> bool:
        """Whether there is but one way to serve a tree of this shape."""
        return self.is_small and not self._has(2)

    @property
    def needs_members(self) -> bool:
        """Whether the members of a tree have any part in it; without, all trees are the same."""
        size = self.stage.size
        return any(option.place < size for options in self.options for option in options)

    def _suits_root(self, root: Kind) -> bool:
        request = self.terms.request
        if not request.root_required <= root.traits:
            self.refusals[ROOT, Reason.REQUIRED_TRAIT] += 1
            return False
        if not request.root_forbidden.isdisjoint(root.traits):
            self.refusals[ROOT, Reason.FORBIDDEN_TRAIT] += 1
            return False
        return True

    def admits(self, uses: Uses) -> bool:
        """Whether every demand finds a place where this much is used, each on its own."""
        for demand, options in zip(self.terms.demands, self._open_options(uses), strict=True):
            if not options:
                self.terms.tally.add(demand.group.suffix, Reason.USED)
                return False
        return True

    def _has(self, count: int) -> bool:
        """Whether there are that many ways to serve a tree of which nothing is used."""
        while len(self._found) < count:
            arrangement = next(self._rest, None)
            if arrangement is None:
                return False
            self._found.append(arrangement)
        return True

    def candidates(self, tree: Tree) -> Iterable[Candidate]:
        """Every candidate with this tree as anchor."""
        standing: Sequence[Provider] = tree.members
        if self.stage.outsiders:
            standing = (*standing, *self.stage.outsiders)
        if self.is_single and not self._found[0].fits(tree.uses):
            self.terms.tally.add(COMBINATION, Reason.USED)
            return ()
        if self.is_single:
            return (self._found[0].candidate(standing),)
        fitting = self._kept_that_fit if self.is_small else self._arrangements
        return (arrangement.candidate(standing) for arrangement in fitting(tree.uses))

    def _kept_that_fit(self, uses: Uses) -> Iterator[Arrangement]:
        is_empty = True
        for arrangement in self._kept():
            if arrangement.fits(uses):
                is_empty = False
                yield arrangement
        if is_empty:
            self.terms.tally.add(COMBINATION, Reason.USED)

    def _kept(self) -> Iterator[Arrangement]:
        if self.terms.request.randomize:
            self._has(FEW)
            yield from self.terms.chance.sample(self._found, len(self._found))
            return
        number = 0
        while self._has(number + 1):
            yield self._found[number]
            number += 1

    def _open_options(self, uses: Uses) -> Iterator[list[Option]]:
        size = self.stage.size
        for options in self.options:
            yield [
                option
                for option in options
                if option.place >= size or option.offer.fits(uses[option.place])
            ]

    def _arrangements(self, uses: Uses | None = None) -> Iterator[Arrangement]:
        """How the demands can be arranged, where nothing or this much is used."""
        options = self.options if uses is None else list(self._open_options(uses))
        if not all(options):
            return
        for combination in self._combinations(options, uses):
            places = tuple(dict.fromkeys(combination))
            numbers = {place: number for number, place in enumerate(places)}
            layout = self.terms.layout(tuple([numbers[place] for place in combination]))
            yield Arrangement(layout, places, () if uses else self._checks(layout, places))

    def _checks(self, layout: Layout, places: tuple[int, ...]) -> tuple[tuple[int, int, int], ...]:
        checks = []
        for place, amounts in zip(places, layout.amounts, strict=True):
            if place < self.stage.size:
                kind = self.stage.kinds[place]
                for name, amount in amounts.items():
                    position = kind.position[name]
                    checks.append((place, position, kind.capacities[position].ceiling - amount))
        return tuple(checks)

    def _combinations(
        self, options: Sequence[Sequence[Option]], uses: Uses | None
    ) -> Iterable[Combination]:
        terms = self.terms
        places = [[option.place for option in of_demand] for of_demand in options]
        if terms.request.randomize:
            for of_demand in places:
                terms.chance.shuffle(of_demand)
        if terms.are_independent:
            return itertools.product(*places)
        return combinations(self._problem(places, uses), terms.tally)

    def _problem(self, places: list[list[int]], uses: Uses | None) -> Problem:
        terms = self.terms
        confined = terms.request.single_provider_per_tree
        wishes = [
            Wish(
                of_demand,
                terms.contested[number],
                terms.exclusive[number],
                self._gains(demand, of_demand),
                self.stage.homes() if confined and demand.amounts else None,
            )
            for number, (demand, of_demand) in enumerate(zip(terms.demands, places, strict=True))
        ]
        room = {
            (place, name): self.stage.room(place, name, uses)
            for wish in wishes
            for name, _ in wish.amounts
            for place in wish.options
        }
        return Problem(
            wishes,
            room,
            goal=(1 << len(terms.collected)) - 1,
            constraints=terms.constraints,
            parents=self.stage.parents() if terms.constraints else (),
        )

    def _gains(self, demand: Demand, places: list[int]) -> Mapping[int, int]:
        """Which of the traits that the unsuffixed group collects each place would bring."""
        if not self.terms.collected or demand.is_suffixed:
            return NOTHING
        return {place: self.terms.brought_by(self.stage.kinds[place]) for place in places}
