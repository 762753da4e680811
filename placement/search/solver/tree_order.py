# SPDX-License-Identifier: Apache-2.0
"""The order of the candidates of one tree: the preference among its devices.

Candidates are sorted by a key of three parts, smaller first:

* *opened*: the number of untouched providers below the root that the candidate touches. A
  provider is touched if anything in its subtree is used.
* *left*: the smallest fraction of a requested class that stays free on a provider, summed over the
  providers that the candidate takes from.
* *spread*: the sum of the used fractions of the requested classes in `spread_classes`. The other
  two parts ignore these classes.

Candidates with equal keys keep the order of ids. `Order.SPREAD` negates *opened* and *left*. The
root counts for *spread* only, a sharing provider not at all. Specification:
allocation_candidates, "Order within a tree".
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import TypeVar

from placement.search.model.capacity import Capacity
from placement.search.model.kind import ProviderKind
from placement.search.model.request import Order
from placement.search.model.tree import UsedAmounts
from placement.search.solver.resolved_request import Demand
from placement.search.solver.search import Search
from placement.search.solver.slots import Occupants, Slots
from placement.search.solver.work import BoundedCache, Work

Member = TypeVar('Member')

# Fractions of a capacity are in thousandths.
WHOLE = 1000
# Larger than any key, so that takes that do not fit come last.
UNFIT = 1 << 200
FITS_BELOW = UNFIT // 2
# Maximum number of entries in each cache of keys.
MAX_STATES = 1024

SIGNS = {Order.PACKED: 1, Order.SPREAD: -1, Order.BY_ID: 0}


# Not frozen, to create them faster: there are many for each search. Instances never change.
@dataclasses.dataclass(slots=True, eq=False)
class Take:
    """The amounts that a solution takes from one slot.

    `amounts` has (position, sum, single amounts) for each class. Compared by identity: equal takes
    of a plan are one object.
    """

    slot: int
    amounts: tuple[tuple[int, int, tuple[int, ...]], ...]

    @classmethod
    def of(cls, slot: int, demands: Sequence[Demand]) -> Take:
        """The take that meets these demands together."""
        amounts: dict[int, list[int]] = {}
        for position, amount in itertools.chain.from_iterable(demands):
            amounts.setdefault(position, []).append(amount)
        return cls(slot, tuple([(at, sum(ones), tuple(ones)) for at, ones in amounts.items()]))

    def fits(self, kind: ProviderKind, used: Sequence[int]) -> bool:
        """True if a provider of this kind and usage has room for the take."""
        capacities = kind.capacities
        for position, total, amounts in self.amounts:
            capacity = capacities[position]
            if total > capacity.room(used[position]):
                return False
            if not capacity.takes_any and any(map(capacity.unit_refusal, amounts)):
                return False
        return True


class KeyRules:
    """Computes the keys of takes from the slots of trees with a common plan.

    `opened` is the part of a key for one opened provider. The other attributes have an entry for
    each slot: `counts` is True for providers below the root that do not share, `spread` holds the
    positions of the spread classes, `is_used` tests the usage of the other classes, and `matters`
    is True if the key of a take may be other than zero.
    """

    def __init__(self, search: Search, slots: Slots) -> None:
        sign = SIGNS[search.request.order]
        # A key is one integer with the digits *opened*, *left* and *spread*, so that keys can be
        # added: sums of *left* and of *spread* stay smaller than the radix.
        most = WHOLE * sum(len(one.amounts) for one in search.resolved.provider_requests)
        radix: int = 1 << most.bit_length()
        self.opened = sign * radix**2
        self._left = sign * radix
        self._ancestry = slots.structure.ancestry
        self._size = len(self._ancestry.parents)
        profiles = slots.profiles
        self.parents = [*self._ancestry.parents, *[-1] * (len(profiles) - self._size)]
        above = set(self.parents)
        of_profile = {profile: search.spread_positions(profile) for profile in set(profiles)}
        self.spread = [of_profile[profile] for profile in profiles]
        self.counts = [
            parent >= 0 and not profile.is_sharing
            for parent, profile in zip(self.parents, profiles, strict=True)
        ]
        self.is_leaf = [counts and slot not in above for slot, counts in enumerate(self.counts)]
        self.has_inner = self.counts != self.is_leaf
        self.is_used = [
            functools.partial(_is_used, spread) if spread else any for spread in self.spread
        ]
        self.matters = [
            counts or bool(spread and not profile.is_sharing)
            for counts, spread, profile in zip(self.counts, self.spread, profiles, strict=True)
        ]

    def opening(self, slot: int) -> Iterator[int]:
        """The slots that a take from this one may open: itself and its ancestors that count."""
        above = slot if self.counts[slot] else -1
        while above >= 0:
            if self.counts[above]:
                yield above
            above = self.parents[above]

    def inner(self, slot: int) -> Sequence[int]:
        """The slots that takes from this slot may open, and takes from other slots as well."""
        return [one for one in self.opening(slot) if not self.is_leaf[one]]

    def within(self, slot: int) -> Sequence[int]:
        """A slot and the slots beneath it."""
        return self._ancestry.within(slot) if slot < self._size else (slot,)

    def touched(self, usage: UsedAmounts) -> list[int]:
        """For each member, 1 if its subtree uses classes other than the spread ones, else 0."""
        touched = [int(is_used(used)) for is_used, used in zip(self.is_used, usage, strict=False)]
        for slot in self._ancestry.upwards:
            if touched[slot] and self.parents[slot] >= 0:
                touched[self.parents[slot]] = 1
        return touched

    def of_take(
        self,
        slot: int,
        amounts: Iterable[tuple[int, int]],
        capacities: Sequence[Capacity],
        used: Sequence[int],
    ) -> int:
        """The key, without *opened*, of taking these amounts, by position, from a slot."""
        if not self.matters[slot]:
            return 0
        key, least, spread = 0, None, self.spread[slot]
        for position, amount in amounts:
            ceiling, after = capacities[position].ceiling or 1, used[position] + amount
            if position in spread:
                key += WHOLE * after // ceiling
            else:
                left = WHOLE * (ceiling - after) // ceiling
                least = left if least is None else min(least, left)
        return key if least is None or not self.counts[slot] else key + self._left * least


def _is_used(spread: Set[int], used: Sequence[int]) -> bool:
    """True if a class is used whose position is not in `spread`."""
    return any(amount and position not in spread for position, amount in enumerate(used))


class TakeKeys(BoundedCache[tuple[int, ...], int]):
    """The keys of a take from slots of one kind, by usage of the slot.

    A key includes opening the slot if the slot is a leaf, which no take from another slot opens.
    """

    __slots__ = ('_kind', '_rules', '_take')

    def __init__(self, rules: KeyRules, take: Take, kind: ProviderKind) -> None:
        super().__init__(MAX_STATES)
        self._rules, self._take, self._kind = rules, take, kind

    def __missing__(self, used: tuple[int, ...]) -> int:
        rules, take, key = self._rules, self._take, UNFIT
        if take.fits(self._kind, used):
            amounts = [(position, total) for position, total, _ in take.amounts]
            is_opened = rules.is_leaf[take.slot] and not rules.is_used[take.slot](used)
            key = rules.of_take(take.slot, amounts, self._kind.capacities, used)
            key += rules.opened * is_opened
        self.add(used, key)
        return key


class KnownKeys:
    """Cache of the keys of takes from the slots of trees with a common plan."""

    def __init__(self, rules: KeyRules) -> None:
        self.rules = rules
        self._of_alike: dict[object, TakeKeys] = {}

    def of_take(self, take: Take, kind: ProviderKind) -> TakeKeys:
        """The keys of a take from slots of this kind; one object for alike takes."""
        rules = self.rules
        alike = (take.amounts, kind, rules.counts[take.slot], rules.is_leaf[take.slot])
        keys = self._of_alike.get(alike)
        if keys is None:
            keys = self._of_alike[alike] = TakeKeys(rules, take, kind)
        return keys


class SolutionOrder:
    """Computes the keys of a few solutions for one tree after the other.

    Takes common to all solutions are only tested for fit: they do not affect the order.
    `is_needed` is True if other takes may affect it, and `steps` is the work for one tree.
    """

    def __init__(self, known: KnownKeys, solutions: Sequence[Sequence[Take]]) -> None:
        self._known, rules = known, known.rules
        self._opened = rules.opened
        # A dict, because a set would put the takes in an arbitrary order.
        met = dict.fromkeys(itertools.chain.from_iterable(solutions))
        common = set(solutions[0]).intersection(*solutions)
        self._common = [take for take in met if take in common]
        self._takes = [take for take in met if take not in common]
        self.is_needed = any(rules.matters[take.slot] for take in self._takes)
        inner_of = {take: rules.inner(take.slot) for take in met} if rules.has_inner else {}
        inner = sorted({slot for slots in inner_of.values() for slot in slots})
        self._inner = [
            (picker(within), [rules.is_used[slot] for slot in within])
            for within in map(rules.within, inner)
        ]
        # The key of a solution is a sum of parts: one for each take and for each inner slot that
        # it may open, then zeros. These are the numbers of the parts.
        of_take = {take: number for number, take in enumerate(self._takes)}
        of_inner = {slot: number for number, slot in enumerate(inner, len(of_take))}
        nothing = len(of_take) + len(of_inner)
        parts = [
            [
                *[of_take[take] for take in takes if take in of_take],
                *({of_inner[slot] for take in takes for slot in inner_of[take]} if inner else ()),
            ]
            for takes in solutions
        ]
        self._columns = list(map(picker, itertools.zip_longest(*parts, fillvalue=nothing)))
        self._pick = picker([take.slot for take in self._takes])
        # The cached keys of each take, by the kinds of the slots that all takes need.
        self._keys = BoundedCache[Sequence[ProviderKind], Sequence[TakeKeys]](MAX_STATES)
        self.steps = 1 + (nothing + len(self._columns) * len(solutions)) // 8

    def keys(self, occupants: Occupants) -> Sequence[int]:
        """The key of each solution; `FITS_BELOW` or more if the solution does not fit.

        Empty if a common take does not fit, so that no solution does.
        """
        _, kinds, usage = occupants
        for take in self._common:
            if not take.fits(kinds[take.slot], usage[take.slot]):
                return ()
        # Most time of a search is spent here, for each tree, hence the built-in functions.
        kinds_here = self._pick(kinds)
        keys_here = self._keys.get(kinds_here)
        if keys_here is None:
            keys_here = list(map(self._known.of_take, self._takes, kinds_here))
            self._keys.add(kinds_here, keys_here)
        parts = list(map(operator.getitem, keys_here, self._pick(usage)))
        for pick, are_used in self._inner:
            is_touched = any(map(operator.call, are_used, pick(usage)))
            parts.append(0 if is_touched else self._opened)
        parts.append(0)
        first, *others = self._columns
        keys = first(parts)
        for column in others:
            keys = tuple(map(operator.add, keys, column(parts)))
        return keys


class ValueOrder:
    """Sorts the slots of each variable in one tree, given the earlier decisions.

    `takes` holds, for each variable by number, the take from each slot; alike variables share one
    mapping.
    """

    def __init__(
        self,
        known: KnownKeys,
        occupants: Occupants,
        takes: Sequence[Mapping[int, Take]],
        work: Work,
    ) -> None:
        self._known, self._rules = known, known.rules
        _, self._kinds, self._usage = occupants
        self._work = work
        self._takes = takes
        self._decided: list[tuple[int, int]] = []
        self._taken: dict[int, dict[int, int]] = {}
        # For each member, the number of decisions that take something from its subtree. Usage
        # before the decisions counts as one.
        self._touched = known.rules.touched(self._usage)
        work.spent += len(self._touched) // 4
        # Keys of takes after the recorded decisions, by id() of the mapping of takes and by slot.
        self._keys: dict[int, dict[int, int]] = {id(of_one): {} for of_one in takes}

    def decide(self, depth: int, number: int, slot: int) -> None:
        """Record the slot of a variable, by number: the last decision before `depth`.

        It replaces the earlier record of this decision, and removes those of later ones.
        """
        while len(self._decided) >= depth:
            self._change(*self._decided.pop(), sign=-1)
        self._decided.append((number, slot))
        self._change(number, slot, sign=1)

    def _change(self, number: int, slot: int, sign: int) -> None:
        """Add a decision to the usage, or with `sign` -1 subtract it; drop the keys it affects."""
        amounts = self._takes[number][slot].amounts
        if not amounts or not self._rules.matters[slot]:
            return
        taken = self._taken.setdefault(slot, {})
        for position, amount, _ in amounts:
            taken[position] = taken.get(position, 0) + sign * amount
        stale: Sequence[int] = (slot,)
        if self._rules.has_inner:
            highest = slot
            for one in self._rules.opening(slot):
                self._touched[one] += sign
                # Whether this slot is touched has changed, for all takes from its subtree.
                if self._touched[one] == (sign > 0):
                    highest = one
            stale = self._rules.within(highest)
            self._work.spent += len(stale) // 4
        for keys in self._keys.values():
            for one in stale:
                keys.pop(one, None)

    def ordered(self, number: int, slots: Sequence[int]) -> Sequence[int]:
        """The given slots of a variable, in the order in which to try them."""
        takes = self._takes[number]
        keys = self._keys[id(takes)]
        for slot in slots:
            if slot not in keys:
                keys[slot] = self._key(slot, takes[slot])
        return sorted(slots, key=keys.__getitem__)

    def _key(self, slot: int, take: Take) -> int:
        rules, kind, used = self._rules, self._kinds[slot], self._usage[slot]
        if not take.amounts or not rules.matters[slot]:
            return 0
        taken = self._taken.get(slot)
        if taken is None or not any(taken.values()):
            key = self._known.of_take(take, kind)[used]
        else:
            amounts = [
                (position, total + taken.get(position, 0)) for position, total, _ in take.amounts
            ]
            key = rules.of_take(slot, amounts, kind.capacities, used)
        opened = 0
        if rules.has_inner:
            opened = sum(not self._touched[inner] for inner in rules.inner(slot))
            opens_leaf = rules.is_leaf[slot] and not self._touched[slot]
            self._work.spent += (opened + opens_leaf) // 2
        return key + opened * rules.opened


def picker(numbers: Sequence[int]) -> Callable[[Sequence[Member]], tuple[Member, ...]]:
    """A function that returns the members of a sequence with these numbers."""
    if len(numbers) > 1:
        return operator.itemgetter(*numbers)
    return lambda members: tuple([members[number] for number in numbers])


def in_order(keys: Sequence[int], numbers: Sequence[int]) -> Sequence[int]:
    """The numbers of the solutions that fit, sorted by key; equal ones in the given order."""
    by_key = sorted(numbers, key=keys.__getitem__)
    return by_key[: bisect.bisect_left(by_key, FITS_BELOW, key=keys.__getitem__)]
