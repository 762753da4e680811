# SPDX-License-Identifier: Apache-2.0
"""Telling trees, which are examined whatever the budget, since an even sample may miss them.

If one host of thousands has the requested class, the reason for no candidates is on that host: all
others merely lack the class.
"""

import itertools
from collections.abc import Iterator, Mapping

from placement.search.candidate import Candidate
from placement.search.model.indexes import trait_key
from placement.search.model.kind import Profile
from placement.search.model.provider import Provider
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree
from placement.search.solver.resolved_request import ResolvedRequest

# Maximum number of providers with rare classes and traits, and maximum of that number times the
# classes and traits of the request, each of which takes a comparison.
MAX_RARE = 250
MAX_RARE_COMPARED = 20_000

# Maximum number of trees that reach the same sharing providers.
MAX_REACHING = 20


def telling_trees(snapshot: Snapshot, resolved: ResolvedRequest) -> list[Tree]:
    """Return the trees that `in_tree` names, and those with rare classes or traits of the request.

    The rarest come first, and others as long as there are not too many providers with them.
    """
    rare = _rare_keys(snapshot.indexes.name_counts, resolved.request)
    roots = dict.fromkeys(sorted(resolved.named_roots))
    if rare:
        roots |= dict.fromkeys(_roots_with(snapshot, rare))
    return [snapshot.tree(root_id) for root_id in roots]


def anchors_of(snapshot: Snapshot, candidate: Candidate) -> list[Tree]:
    """Return the tree of a candidate.

    If sharing providers alone serve it, return some of the trees that reach all of them.
    """
    for provider in candidate.providers:
        if not provider.kind.profile.is_sharing:
            return [snapshot.tree(provider.root_id)]
    reaching = (
        tree
        for tree in snapshot.trees()
        if all(_reaches(tree, provider) for provider in candidate.providers)
    )
    return list(itertools.islice(reaching, MAX_REACHING))


def _reaches(tree: Tree, sharing: Provider) -> bool:
    aggregates = tree.shape.structure.aggregates
    return tree.root_id == sharing.root_id or not aggregates.isdisjoint(
        sharing.kind.profile.aggregates
    )


def _rare_keys(counts: Mapping[str, int], request: CandidateRequest) -> frozenset[str]:
    """Return the rarest classes and traits of a request, as keys of the index."""
    wanted = [
        *({name} for name in request.resource_classes),
        *({trait_key(name)} for name in request.root_required),
        *(set(map(trait_key, names)) for group in request.groups for names in group.required),
    ]
    number_of = [(sum(counts[key] for key in keys), sorted(keys)) for keys in wanted]
    max_rare = min(MAX_RARE, MAX_RARE_COMPARED // max(1, len(wanted)))
    ordered = sorted(entry for entry in number_of if entry[0])
    totals = itertools.accumulate(number for number, _ in ordered)
    few = itertools.takewhile(
        lambda entry: entry[0] <= max_rare, zip(totals, ordered, strict=True)
    )
    return frozenset(key for _, (_, keys) in few for key in keys)


def _roots_with(snapshot: Snapshot, keys: frozenset[str]) -> Iterator[int]:
    """Yield the root ids of providers with one of these classes and traits."""

    def has_one(profile: Profile) -> bool:
        return not (
            keys.isdisjoint(profile.position) and keys.isdisjoint(map(trait_key, profile.traits))
        )

    for block in snapshot.blocks.values():
        for bound in block.bounds:
            if has_one(bound.profile):
                yield from (
                    provider.root_id
                    for provider in bound.providers
                    if has_one(provider.kind.profile)
                )
