# SPDX-License-Identifier: Apache-2.0
"""The normalized query of a candidate request, which is the same for all equivalent requests.

The order of parameters, groups and names makes no difference, nor do the suffixes (nova names some
groups by the uuids of ports) and the limit. The query can be sent as it is.
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
# A number for each suffix, the same for groups that are still tied.
Ranks = dict[str, int]

# Characters of values that stay unquoted: separators and marks of names.
PLAIN = ':,!'

# Maximum number of arbitrary choices between tied groups, each of which looks at all groups.
# Beyond it suffixes make a difference again.
MAX_TIES = 100


class NormalizedQuery(NamedTuple):
    """A normalized query in two parts, and its fingerprint.

    `trees` has the parameters `in_tree`, and `query` all others. `suffixes` maps the suffixes of
    the request to those of the query.
    """

    query: str
    trees: str
    fingerprint: str
    suffixes: Mapping[str, str]


def normalized(request: CandidateRequest) -> NormalizedQuery:
    """Normalize a request; the fingerprint is the same whichever trees it names."""
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
    # Requests for any tree and requests that name one are kept apart, and so are versions at which
    # the same query has another meaning.
    kind = f'{bool(trees)} {request.single_provider_per_tree} '
    fingerprint = hashlib.sha256((kind + query).encode()).hexdigest()
    return NormalizedQuery(query, _encoded(trees), fingerprint, suffixes)


def _suffixes(request: CandidateRequest) -> dict[str, str]:
    """Number the suffixes by the conditions of their groups, and by the subtrees they share."""
    suffixed = {group.suffix: group for group in request.groups if group.is_suffixed}
    named = sorted(suffixed, key=lambda suffix: suffixed[suffix].in_tree or '')
    ranks = _ranked({suffix: list(_conditions(suffixed[suffix])) for suffix in named})
    in_subtrees = frozenset().union(*request.same_subtree)
    for _ in range(MAX_TIES):
        ranks = _refined(ranks, request.same_subtree)
        taken = Counter(ranks.values())
        tied = next((s for s in named if taken[ranks[s]] > 1 and s in in_subtrees), None)
        if tied is None:
            break
        # Tied groups are interchangeable, so any of them may be the first.
        ranks = _ranked({s: (rank, s != tied) for s, rank in ranks.items()})
    ordered = sorted(named, key=lambda suffix: ranks[suffix])
    return {'': ''} | {suffix: str(number) for number, suffix in enumerate(ordered, start=1)}


def _refined(ranks: Ranks, subtrees: Iterable[frozenset[str]]) -> Ranks:
    """Refine ranks by the ranks of the groups in the same subtrees, until nothing changes."""
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
    """Return the position of each suffix in the order of its key, the same for equal keys."""
    ordered = sorted(keys, key=lambda suffix: keys[suffix])
    ranks: Ranks = {}
    for before, suffix in zip([None, *ordered], ordered, strict=False):
        is_equal = before is not None and keys[before] == keys[suffix]
        ranks[suffix] = ranks[before] if before is not None and is_equal else len(ranks)
    return ranks


def _order(suffix: str) -> int:
    return int(suffix or 0)


def _conditions(group: RequestGroup) -> Iterator[Pair]:
    """Yield the parameters of a group except `in_tree`, without its suffix."""
    if group.resources:
        amounts = (f'{name}:{amount}' for name, amount in sorted(group.resources.items()))
        yield 'resources', ','.join(amounts)
    yield from _named(group, GROUP_PARAMETERS)


def _named(
    holder: CandidateRequest | RequestGroup, parameters: Iterable[Parameter]
) -> Iterator[Pair]:
    """Yield parameters of names as they stand in a query, with single traits joined by commas."""
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
                    (joined if parameter.attribute == 'traits' else values).append(single)
        if joined:
            yield query, ','.join(joined)
        yield from ((query, value) for value in values)


def _of_all(request: CandidateRequest, suffixes: dict[str, str]) -> Iterator[Pair]:
    """Yield the parameters of the request as a whole."""
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
