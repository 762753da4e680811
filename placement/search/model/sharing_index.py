# SPDX-License-Identifier: Apache-2.0
"""Who shares through which aggregate, kept as providers change."""

from collections.abc import Mapping

from placement.search.model.provider import Provider

# The ids of the sharing providers in each aggregate, in ascending order.
SharingIndex = Mapping[str, tuple[int, ...]]


def changed_sharing(
    index: SharingIndex, before: Mapping[int, Provider], after: Mapping[int, Provider]
) -> SharingIndex:
    """The index after these providers have changed; the same one where it says the same."""
    old, new = _by_aggregate(before), _by_aggregate(after)
    if old == new:
        return index
    changed = dict(index)
    for aggregate in old.keys() | new.keys():
        sharers = set(changed.pop(aggregate, ())) - old.get(aggregate, set())
        if sharers := sharers | new.get(aggregate, set()):
            changed[aggregate] = tuple(sorted(sharers))
    return changed


def _by_aggregate(providers: Mapping[int, Provider]) -> dict[str, set[int]]:
    """The ids of the sharing ones among these providers, by aggregate."""
    sharers: dict[str, set[int]] = {}
    for provider in providers.values():
        for aggregate in provider.kind.profile.sharing_aggregates:
            sharers.setdefault(aggregate, set()).add(provider.id)
    return sharers
