# SPDX-License-Identifier: Apache-2.0
"""A slow and simple explanation of a request, to hold the fast one against.

Every set of conditions is tried on every tree, every relaxed request is solved. It shares no code
with the explanation but the values that go in.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from placement.search.model.provider import ProviderRow
from placement.search.model.request import CandidateRequest, RequestGroup
from placement.tests.unit.search.oracle import Cloud, allows_anchor, capacity, fits, solve, unused

# A condition: its reason and the name that it is about, alternatives joined as they are told.
Label = tuple[str, str]


def alternatives(names: Iterable[str]) -> str:
    return ' or '.join(sorted(names))


def labels(group: RequestGroup) -> list[Label]:
    """The conditions of a group in the order of testing."""
    return [
        *([('tree', group.in_tree)] if group.in_tree is not None else []),
        *[('class missing', name) for name in group.resources],
        *dict.fromkeys(('required trait', alternatives(one)) for one in group.required),
        *[('forbidden trait', name) for name in sorted(group.forbidden)],
        *dict.fromkeys(('aggregate', alternatives(one)) for one in group.member_of),
        *[('aggregate', f'!{name}') for name in sorted(group.forbidden_aggregates)],
        *[('too small', name) for name in group.resources],
        *[('used', name) for name in group.resources],
    ]


def passes(cloud: Cloud, group: RequestGroup, anchor: ProviderRow, kept: Iterable[Label]) -> bool:
    """True if providers serve the group under the anchor, when only these conditions count."""
    kept = set(kept)
    reached = [row for row in cloud.rows.values() if anchor in cloud.anchors(row)]
    if group.is_suffixed:
        return any(serves(cloud, group, anchor, row, group.resources, kept) for row in reached)
    choices = [
        [row for row in reached if serves(cloud, group, anchor, row, [name], kept)]
        for name in group.resources
    ]
    return any(
        all(
            not one.isdisjoint({trait for row in chosen for trait in row.traits})
            for one in group.required
            if ('required trait', alternatives(one)) in kept
        )
        for chosen in itertools.product(*choices)
    )


def serves(
    cloud: Cloud,
    group: RequestGroup,
    anchor: ProviderRow,
    row: ProviderRow,
    names: Iterable[str],
    kept: set[Label],
) -> bool:
    """True if a provider meets the conditions on single providers."""
    traits, own, spanning = set(row.traits), set(row.aggregates), set(row.aggregates)
    # Several providers may bring the traits of a group together.
    is_of_one = group.is_suffixed or len(group.resources) == 1
    is_of_tree = cloud.root(row) is anchor
    barred = set(own)
    is_in_tree = group.in_tree is None or cloud.is_in_tree(row, group.in_tree)
    wanted = [one for one in group.member_of if ('aggregate', alternatives(one)) in kept]
    is_member = all(one & own for one in wanted)
    if not group.is_suffixed:
        spanning = set(anchor.aggregates)
        barred |= spanning
        is_in_tree = group.in_tree is None or (is_of_tree and is_in_tree)
        is_member = is_member or (is_of_tree and all(one & spanning for one in wanted))
    return (
        is_member
        and (is_in_tree or ('tree', group.in_tree) not in kept)
        and not any(name in barred and ('aggregate', f'!{name}') in kept
                    for name in group.forbidden_aggregates)
        and not any(name in traits and ('forbidden trait', name) in kept
                    for name in group.forbidden)
        and (not is_of_one or all(
            one & traits for one in group.required
            if ('required trait', alternatives(one)) in kept))
        and all(has_amount(row, name, group.resources[name], kept) for name in names)
    )  # fmt: skip


def has_amount(row: ProviderRow, name: str, amount: int, kept: set[Label]) -> bool:
    """True if a provider offers the amount, as far as these conditions ask for it."""
    if name not in row.inventories:
        return ('class missing', name) not in kept
    fits_unused = fits(unused(row), name, amount)
    if ('too small', name) in kept and not fits_unused:
        return False
    return not (('used', name) in kept and fits_unused and not fits(row, name, amount))


def trees(cloud: Cloud, request: CandidateRequest) -> set[str]:
    """The uuids of the roots under which something is found."""
    if not any(group.resources for group in request.groups):
        return set()
    return {root for roots in solve(cloud, request).values() for root in roots}


# What a relaxation is known by: the suffix of the group, None for the whole request, the word of
# what is given up, and what it is about.
Given = tuple[str | None, str, str]


def choices(request: CandidateRequest, with_amounts: bool) -> list[Given]:
    """Everything that can be given up."""
    found: list[Given] = []
    for group in request.groups:
        found += [
            (group.suffix, *label)
            for label in labels(group)
            if label[0] not in ('class missing', 'too small', 'used')
        ]
    found += [(None, 'root_required', name) for name in sorted(request.root_required)]
    found += [(None, 'root_required', f'!{name}') for name in sorted(request.root_forbidden)]
    if request.isolate and sum(group.is_suffixed for group in request.groups) > 1:
        found.append((None, 'isolate', ''))
    found += dict.fromkeys(
        (None, 'subtree', ','.join(sorted(suffixes)))
        for suffixes in request.same_subtree
        if len(suffixes) > 1
    )
    if with_amounts:
        found += [
            (group.suffix, word, name)
            for word in ('amount', 'class')
            for group in request.groups
            for name in group.resources
            if word == 'amount' or can_drop(request, group)
        ]
    return found


def combination(
    cloud: Cloud, request: CandidateRequest
) -> Iterator[tuple[Given | None, set[str]]]:
    """The conditions on all groups together in the order of testing, each with the trees that
    pass it and, of those on the search, all before it; None where it cannot be given up."""
    every = choices(request, with_amounts=False)
    if len(request.groups) > 1:
        yield None, serving_each_group(cloud, request)
    roots = [given for given in every if given[1] == 'root_required']
    for given in roots:
        one = CandidateRequest((), root_required=frozenset([given[2]]))
        if given[2].startswith('!'):
            one = CandidateRequest((), root_forbidden=frozenset([given[2][1:]]))
        yield given, {root.uuid for root in cloud.roots if allows_anchor(one, root)}
    together = [given for given in every if given[1] in ('isolate', 'subtree')]
    loose = dataclasses.replace(request, single_provider_per_tree=False)
    for number, step in enumerate([None, *together]):
        asked = loose
        for later in (*roots, *together[number:]):
            asked = _without(asked, later, 0)
        yield step, trees(cloud, asked)
    if request.single_provider_per_tree:
        yield None, trees(cloud, request)


def serving_each_group(cloud: Cloud, request: CandidateRequest) -> set[str]:
    return {
        root.uuid
        for root in cloud.roots
        if all(passes(cloud, group, root, labels(group)) for group in request.groups)
    }


def can_drop(request: CandidateRequest, group: RequestGroup) -> bool:
    if len(group.resources) > 1:
        return True
    others = [one for one in request.groups if one.suffix != group.suffix and one.resources]
    return bool(others) and not any(group.suffix in one for one in request.same_subtree)


def without(
    request: CandidateRequest, given: Iterable[Given], amounts: Iterable[int] = ()
) -> CandidateRequest:
    """The request without some conditions, as a client can ask for it, with these amounts in
    place of those that are given up."""
    sizes = iter(amounts)
    for one in given:
        request = _without(request, one, next(sizes) if one[1] == 'amount' else 0)
    return without_empty_groups(request)


def without_empty_groups(request: CandidateRequest) -> CandidateRequest:
    """The request without the groups that no query can have."""
    held = {suffix for suffixes in request.same_subtree for suffix in suffixes}
    groups = tuple(
        group
        for group in request.groups
        if group.resources or (group.suffix in held and len(labels(group)))
    )
    there = {group.suffix for group in groups}
    subtrees = [suffixes & there for suffixes in request.same_subtree]
    return dataclasses.replace(
        request, groups=groups, same_subtree=tuple(subtree for subtree in subtrees if subtree)
    )


def can_be_asked(request: CandidateRequest) -> bool:
    """True if a query can say this (specification: allocation_candidates, "Groups without
    resources")."""
    named = {suffix for suffixes in request.same_subtree for suffix in suffixes}
    return (
        all(labels(group) for group in request.groups)
        and all(group.resources or group.suffix in named for group in request.groups)
        and any(group.resources for group in request.groups)
        and named <= {group.suffix for group in request.groups}
    )


def _without(request: CandidateRequest, given: Given, amount: int) -> CandidateRequest:
    suffix, word, name = given
    if word == 'isolate':
        return dataclasses.replace(request, isolate=False)
    if word == 'subtree':
        return dataclasses.replace(request, same_subtree=tuple(
            one for one in request.same_subtree if ','.join(sorted(one)) != name))  # fmt: skip
    if word == 'root_required':
        return dataclasses.replace(
            request,
            root_required=request.root_required - {name},
            root_forbidden=request.root_forbidden - {name.removeprefix('!')}
            if name.startswith('!')
            else request.root_forbidden,
        )
    groups = []
    for group in request.groups:
        if group.suffix == suffix:
            resources = {n: a for n, a in group.resources.items() if n != name}
            if word == 'class' and not resources:
                continue
            group = dataclasses.replace(group, **changes(group, word, name, amount))
        groups.append(group)
    return dataclasses.replace(request, groups=tuple(groups))


def changes(group: RequestGroup, word: str, name: str, amount: int) -> dict[str, Any]:
    if word == 'amount':
        return {'resources': {**group.resources, name: amount}}
    if word == 'class':
        return {'resources': {n: a for n, a in group.resources.items() if n != name}}
    if word == 'tree':
        return {'in_tree': None}
    if word == 'forbidden trait':
        return {'forbidden': group.forbidden - {name}}
    if word == 'required trait':
        return {'required': tuple(o for o in group.required if alternatives(o) != name)}
    if name.startswith('!'):
        return {'forbidden_aggregates': group.forbidden_aggregates - {name[1:]}}
    return {'member_of': tuple(o for o in group.member_of if alternatives(o) != name)}


def relaxed_trees(
    cloud: Cloud, request: CandidateRequest, given: tuple[Given, ...]
) -> tuple[int, int | None]:
    """Count the trees that fit without these, with whichever amounts; and find the largest amount
    that fits one where one amount alone is given up."""
    amounts = [one for one in given if one[1] == 'amount']
    found: set[str] = set()
    largest = 0
    ranges = [range(1, most_of(cloud, one[2]) + 1) for one in amounts]
    for sizes in itertools.product(*ranges):
        here = trees(cloud, without(request, given, sizes))
        if here:
            found |= here
            largest = max(largest, *sizes, 0) if sizes else 0
    return len(found), largest if len(amounts) == 1 and found else None


def most_of(cloud: Cloud, name: str) -> int:
    """The largest amount of a class that any provider gives to one consumer."""
    inventories = (row.inventories.get(name) for row in cloud.rows.values())
    return max(
        [int(min(capacity(one), one.max_unit)) for one in inventories if one is not None],
        default=0,
    )


def relaxations(
    cloud: Cloud, request: CandidateRequest
) -> dict[frozenset[Given], tuple[int, int | None]]:
    """Every single condition without which more trees fit; where nothing fits and there is none,
    every pair. A class is given up only where another amount of it does not help."""
    fitting = len(trees(cloud, request))
    singles = choices(request, with_amounts=not fitting)
    found = _deciding(cloud, request, [(one,) for one in singles], fitting)
    if found or fitting:
        return found
    pairs = [
        (one, other)
        for one, other in itertools.combinations(singles, 2)
        if not is_about_one_amount(one, other) and not leaves_nothing_of_group(request, one, other)
    ]
    return _deciding(cloud, request, pairs, fitting)


def is_about_one_amount(one: Given, other: Given) -> bool:
    """True if one gives up the amount of a class, and the other the class."""
    return {one[1], other[1]} == {'amount', 'class'} and (one[0], one[2]) == (other[0], other[2])


def leaves_nothing_of_group(request: CandidateRequest, one: Given, other: Given) -> bool:
    """True if both classes of a group are given up, so that it would be another group."""
    return one[1] == other[1] == 'class' and any(
        group.suffix == one[0] == other[0] and set(group.resources) == {one[2], other[2]}
        for group in request.groups
    )


def _deciding(
    cloud: Cloud,
    request: CandidateRequest,
    sets: Iterable[tuple[Given, ...]],
    fitting: int,
) -> dict[frozenset[Given], tuple[int, int | None]]:
    found: dict[frozenset[Given], tuple[int, int | None]] = {}
    for given in sets:
        if any(frozenset(other) in found for other in _with_amounts(given)):
            continue
        count, largest = relaxed_trees(cloud, request, given)
        if count > fitting:
            found[frozenset(given)] = (count, largest)
    return found


def _with_amounts(given: tuple[Given, ...]) -> Iterator[tuple[Given, ...]]:
    ways = [[one, (one[0], 'amount', one[2])] if one[1] == 'class' else [one] for one in given]
    return (way for way in itertools.product(*ways) if way != given)
