# SPDX-License-Identifier: Apache-2.0
"""What is found: candidates, and the layouts that alike candidates share.

A thousand alike hosts answer a request in the same way.  A `Layout` says that way once: which
place takes which amounts and serves which group.  A `Candidate` adds who stands at the places.  So
whoever shows candidates can prepare a text for each layout and only fill in names.
"""

from collections.abc import Callable, Iterator, Mapping

from placement.search.combine import Combination
from placement.search.groups import Terms
from placement.search.provider import Kind, Provider
from placement.search.tree import Uses


class Layout:
    """One way to serve all groups, for every tree of a shape.

    `amounts` holds, for each provider of a candidate in turn, what is taken from it by class;
    nothing from one that only serves groups without resources.  `mappings` holds the suffix of
    each group with the numbers of the providers that serve it.  `rendered` is a blank for whoever
    shows candidates.
    """

    __slots__ = (
        '_checks',
        'amounts',
        'is_all_shared',
        'mappings',
        'places',
        'rendered',
        'servers',
        'serving',
    )

    def __init__(
        self, terms: Terms, kind_of: Callable[[int], Kind], size: int, combination: Combination
    ) -> None:
        self.places = tuple(dict.fromkeys(combination))
        number_of = {place: number for number, place in enumerate(self.places)}
        # Which provider serves each demand, by number.
        self.serving = tuple([number_of[place] for place in combination])
        amounts: list[dict[str, int]] = [{} for _ in self.places]
        groups: dict[str, dict[int, None]] = {group.suffix: {} for group in terms.request.groups}
        for demand, number in zip(terms.demands, self.serving, strict=True):
            groups[demand.group.suffix][number] = None
            taken = amounts[number]
            for name, amount in demand.amounts.items():
                taken[name] = taken.get(name, 0) + amount
        self.amounts: tuple[Mapping[str, int], ...] = tuple(amounts)
        self.mappings = tuple((suffix, tuple(numbers)) for suffix, numbers in groups.items())
        self.servers = tuple([number for number, taken in enumerate(amounts) if taken])
        kinds = [kind_of(place) for place in self.places]
        self.is_all_shared = all(kind.is_sharing for kind in kinds)
        self._checks = tuple(
            [
                (place, kind.position[name], kind.capacities[kind.position[name]].ceiling - amount)
                for place, kind, taken in zip(self.places, kinds, amounts, strict=True)
                if place < size
                for name, amount in taken.items()
            ]
        )
        self.rendered: object = None

    def fits(self, uses: Uses) -> bool:
        """Whether there is room for it where the members of a tree use this much."""
        for place, position, most_used in self._checks:
            if uses[place][position] > most_used:
                return False
        return True


class Layouts:
    """The layouts of a shape in their order, found as far as somebody has looked."""

    __slots__ = ('_found', '_rest')

    def __init__(self, layouts: Iterator[Layout]) -> None:
        self._found: list[Layout] = []
        self._rest = layouts

    def __iter__(self) -> Iterator[Layout]:
        number = 0
        while number < len(self._found) or self._find_next():
            yield self._found[number]
            number += 1

    def __bool__(self) -> bool:
        return bool(self._found) or self._find_next()

    def _find_next(self) -> bool:
        layout = next(self._rest, None)
        if layout is not None:
            self._found.append(layout)
        return layout is not None


class Candidate:
    """One way to serve a request: a layout and the providers at its places."""

    __slots__ = ('layout', 'providers')

    def __init__(self, layout: Layout, providers: tuple[Provider, ...]) -> None:
        self.layout = layout
        self.providers = providers

    @property
    def allocations(self) -> dict[Provider, Mapping[str, int]]:
        """What is taken from each provider that gives something, by class."""
        return {self.providers[at]: self.layout.amounts[at] for at in self.layout.servers}

    @property
    def mappings(self) -> dict[str, list[Provider]]:
        """The providers that serve each group, keyed by suffix."""
        return {
            suffix: [self.providers[number] for number in numbers]
            for suffix, numbers in self.layout.mappings
        }

    @property
    def identity(self) -> tuple[int, ...]:
        """Who serves each demand: candidates with the same identity are the same, whatever tree
        they were found under."""
        return tuple([self.providers[number].id for number in self.layout.serving])

    def __repr__(self) -> str:
        return f'<Candidate {self.mappings}>'
