# SPDX-License-Identifier: Apache-2.0
"""A candidate request as the one query that stands for all who ask the same.

The order of parameters, of groups and of names makes no difference, nor what suffixes are called
(nova names some groups by the uuids of ports), nor how many candidates are wanted.  The query can
be sent again as it is.
"""

import hashlib
import itertools
import urllib.parse
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from placement.search.model.request import (
    GROUP_PARAMETERS,
    ROOT_PARAMETERS,
    CandidateRequest,
    Parameter,
    RequestGroup,
    alternatives,
)

Pair = tuple[str, str]
# By suffix.
Ranks = dict[str, int]

# What stays as it is in a query: what separates and marks names in values.
PLAIN = ':,!'

# How many groups that ask for the same are told apart by an arbitrary choice. Beyond it suffixes
# make a difference again: each choice costs a look at all groups.
MAX_TIES = 100


class NormalizedQuery(NamedTuple):
    """`query` asks the same without `in_tree`; `trees` has the parameters `in_tree`, which
    together with it make the whole query."""

    query: str
    trees: str
    fingerprint: str


def normalized(request: CandidateRequest) -> NormalizedQuery:
    """The query of everybody who asks for the same, whichever tree they name."""
    suffixes = _suffixes(request)
    parameters: list[Pair] = []
    trees: list[Pair] = []
    for group in sorted(request.groups, key=lambda group: _order(suffixes[group.suffix])):
        suffix = suffixes[group.suffix]
        parameters += [(name + suffix, value) for name, value in _conditions(group)]
        if group.in_tree is not None:
            trees.append((f'in_tree{suffix}', group.in_tree))
    parameters += _of_all(request, suffixes)
    query = _encoded(parameters)
    # Requests for any tree, and such as name one, are kept apart; so are those of old versions,
    # which mean something else by the same words.
    kind = f'{bool(trees)} {request.single_provider_per_tree} '
    fingerprint = hashlib.sha256((kind + query).encode()).hexdigest()
    return NormalizedQuery(query, _encoded(trees), fingerprint)


def _suffixes(request: CandidateRequest) -> dict[str, str]:
    """A number for each suffix, by what the group asks for and which groups it shares a subtree
    with, whatever the suffix is."""
    suffixed = {group.suffix: group for group in request.groups if group.is_suffixed}
    named = sorted(suffixed, key=lambda suffix: suffixed[suffix].in_tree or '')
    ranks = _ranked({suffix: list(_conditions(suffixed[suffix])) for suffix in named})
    held = frozenset().union(*request.same_subtree)
    for _ in range(MAX_TIES):
        ranks = _refined(ranks, request.same_subtree)
        taken = Counter(ranks.values())
        tied = next((s for s in named if taken[ranks[s]] > 1 and s in held), None)
        if tied is None:
            break
        # Groups that nothing tells apart are interchangeable, so any of them may be the first.
        ranks = _ranked({s: (rank, s != tied) for s, rank in ranks.items()})
    ordered = sorted(named, key=lambda suffix: ranks[suffix])
    return {'': ''} | {suffix: str(number) for number, suffix in enumerate(ordered, start=1)}


def _refined(ranks: Ranks, subtrees: Iterable[frozenset[str]]) -> Ranks:
    """Ranks that tell groups apart, too, by the ranks of those that they share subtrees with."""
    while True:
        shared: dict[str, list[list[int]]] = {suffix: [] for suffix in ranks}
        for subtree in subtrees:
            of_subtree = sorted(ranks[suffix] for suffix in subtree)
            for suffix in subtree:
                shared[suffix].append(of_subtree)
        refined = _ranked({s: (rank, sorted(shared[s])) for s, rank in ranks.items()})
        if refined == ranks:
            return ranks
        ranks = refined


def _ranked(keys: Mapping[str, Any]) -> Ranks:
    """The place of each suffix in the order of its key, the same for equal keys."""
    ordered = sorted(keys, key=lambda suffix: keys[suffix])
    ranks: Ranks = {}
    for before, suffix in zip([None, *ordered], ordered, strict=False):
        is_equal = before is not None and keys[before] == keys[suffix]
        ranks[suffix] = ranks[before] if before is not None and is_equal else len(ranks)
    return ranks


def _order(suffix: str) -> int:
    return int(suffix or 0)


def _conditions(group: RequestGroup) -> Iterator[Pair]:
    """The parameters of a group but for `in_tree`, without its suffix."""
    if group.resources:
        amounts = (f'{name}:{amount}' for name, amount in sorted(group.resources.items()))
        yield 'resources', ','.join(amounts)
    yield from _named(group, GROUP_PARAMETERS)


def _named(
    holder: CandidateRequest | RequestGroup, parameters: Iterable[Parameter]
) -> Iterator[Pair]:
    """The names of some parameters as a query has them; single traits are joined by commas."""
    for query, of_query in itertools.groupby(parameters, lambda parameter: parameter.query):
        joined: list[str] = []
        values: list[str] = []
        for parameter in of_query:
            for name in sorted(
                {','.join(sorted(alternatives(n))) for n in parameter.names(holder)}
            ):
                if ',' in name:
                    values.append(f'in:{name}')
                else:
                    single = f'!{name}' if parameter.is_barred else name
                    (joined if parameter.held == 'traits' else values).append(single)
        if joined:
            yield query, ','.join(joined)
        yield from ((query, value) for value in values)


def _of_all(request: CandidateRequest, suffixes: dict[str, str]) -> Iterator[Pair]:
    """The parameters that belong to no group."""
    if len(suffixes) > 2 or request.isolate:
        yield 'group_policy', 'isolate' if request.isolate else 'none'
    for subtree in sorted(
        sorted((suffixes[suffix] for suffix in subtree), key=_order)
        for subtree in request.same_subtree
    ):
        yield 'same_subtree', ','.join(subtree)
    yield from _named(request, ROOT_PARAMETERS)


def _encoded(parameters: Iterable[Pair]) -> str:
    return '&'.join(
        f'{name}={urllib.parse.quote(value, safe=PLAIN)}' for name, value in parameters
    )
