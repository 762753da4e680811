# SPDX-License-Identifier: Apache-2.0
"""How often a request fits where one provider serves all of it: no claim has to be tried."""

from collections.abc import Mapping

from placement.search.insight.provider_masks import ProviderMasks
from placement.search.model.provider import Provider
from placement.search.model.tree import Tree

# How many consumers fit now, and if nothing were used.
Both = tuple[int, int]
NONE: Both = (0, 0)


def times(provider: Provider, amounts: Mapping[str, int]) -> Both:
    """How many consumers of these amounts a provider has room for, which has all of the classes
    and takes such amounts."""
    now = empty = -1
    kind, used = provider.kind, provider.used
    position = kind.profile.position
    for name, amount in amounts.items():
        number = position[name]
        capacity = kind.capacities[number]
        if amount > capacity.largest:
            return NONE
        of_all, of_free = capacity.ceiling // amount, (capacity.ceiling - used[number]) // amount
        if of_all < empty or empty < 0:
            empty = of_all
        if of_free < now or now < 0:
            # More may be used than there is.
            now = max(of_free, 0)
    return max(now, 0), max(empty, 0)


class ClosedForm:
    """Counts for one request: on trees of one provider, and where one provider request is all.

    A tree of one provider serves the request if it meets every condition and has the amounts of
    all groups together; several isolated groups it cannot serve.
    """

    def __init__(self, masks: ProviderMasks, totals: Mapping[str, int], isolated: int) -> None:
        self.masks = masks
        self.totals = totals
        self._is_isolated = isolated > 1
        self._kept = masks.table.visible & ~masks.table.free

    def of_flat(self, tree: Tree) -> Both:
        """The count of a tree of one provider that reaches no other."""
        if self._is_isolated or self.masks.flat_key(tree) & self._kept:
            return NONE
        return times(tree.members[0], self.totals)

    def of_providers(self, tree: Tree) -> dict[int, Both]:
        """By id the count of each provider that serves the only provider request when it is used
        from this tree."""
        masks, table = self.masks, self.masks.table
        if table.root_mask(tree.members[0].kind.profile):
            return {}
        collected = table.groups[table.group_of[0]].collected
        counts: dict[int, Both] = {}
        for slot, provider in enumerate((*tree.members, *masks.sharing_with(tree))):
            if slot < len(tree.members):
                (elements,) = masks.elements_of_member(tree, slot)
            else:
                (elements,) = masks.elements_of_sharing(tree, provider)
            if any(not mask & self._kept and not collected & ~gained for mask, gained in elements):
                counts[provider.id] = times(provider, self.totals)
        return counts


def upper_bound(providers: list[Provider], totals: Mapping[str, int], is_empty: bool) -> int:
    """More consumers than this these providers have no room for, all together."""
    free = dict.fromkeys(totals, 0)
    for provider in providers:
        for name, capacity, used in provider.inventories:
            if name in free:
                free[name] += max(capacity.ceiling - (0 if is_empty else used), 0)
    return min([free[name] // amount for name, amount in totals.items()], default=0)
