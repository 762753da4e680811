# SPDX-License-Identifier: Apache-2.0
"""A candidate request as the one query that stands for all who ask the same.

The order of parameters, of groups and of names makes no difference, nor what suffixes are called
(nova names some groups by the uuids of ports), nor how many candidates are wanted.  The query can
be sent again as it is.
"""

from __future__ import annotations

import hashlib
import urllib.parse
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from placement.search.model.request import AnyOf, CandidateRequest, RequestGroup

Parameter = tuple[str, str]

# What stays as it is in a query: what separates and marks names in values.
PLAIN = ':,!'


class NormalizedQuery(NamedTuple):
    """`query` asks the same without `in_tree`; `trees` has the parameters `in_tree`, which
    together with it make the whole query."""

    query: str
    trees: str
    fingerprint: str


def normalized(request: CandidateRequest) -> NormalizedQuery:
    """The query of everybody who asks for the same, whichever tree they name."""
    suffixes = _suffixes(request)
    parameters: list[Parameter] = []
    trees: list[Parameter] = []
    for group in sorted(request.groups, key=lambda one: _order(suffixes[one.suffix])):
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
    """A number for each suffix, by what the group asks for."""
    suffixed = [group for group in request.groups if group.is_suffixed]
    suffixed.sort(key=lambda group: (list(_conditions(group)), group.in_tree or ''))
    numbers = {group.suffix: str(number) for number, group in enumerate(suffixed, start=1)}
    return {'': ''} | numbers


def _order(suffix: str) -> int:
    return int(suffix or 0)


def _conditions(group: RequestGroup) -> Iterator[Parameter]:
    """The parameters of a group but for `in_tree`, without its suffix."""
    if group.resources:
        amounts = (f'{name}:{amount}' for name, amount in sorted(group.resources.items()))
        yield 'resources', ','.join(amounts)
    alone = sorted(name for any_of in set(group.required) if len(any_of) == 1 for name in any_of)
    alone += [f'!{name}' for name in sorted(group.forbidden)]
    if alone:
        yield 'required', ','.join(alone)
    yield from (('required', f'in:{one}') for one in _joined(group.required) if ',' in one)
    for one in _joined(group.member_of):
        yield 'member_of', f'in:{one}' if ',' in one else one
    for name in sorted(group.forbidden_aggregates):
        yield 'member_of', f'!{name}'


def _joined(alternatives: Iterable[AnyOf]) -> list[str]:
    """The names of each alternative, joined by commas."""
    return sorted({','.join(sorted(any_of)) for any_of in alternatives})


def _of_all(request: CandidateRequest, suffixes: dict[str, str]) -> Iterator[Parameter]:
    """The parameters that belong to no group."""
    if len(suffixes) > 2 or request.isolate:
        yield 'group_policy', 'isolate' if request.isolate else 'none'
    for subtree in sorted(
        sorted((suffixes[suffix] for suffix in subtree), key=_order)
        for subtree in request.same_subtree
    ):
        yield 'same_subtree', ','.join(subtree)
    root = [*sorted(request.root_required), *(f'!{n}' for n in sorted(request.root_forbidden))]
    if root:
        yield 'root_required', ','.join(root)


def _encoded(parameters: Iterable[Parameter]) -> str:
    return '&'.join(
        f'{name}={urllib.parse.quote(value, safe=PLAIN)}' for name, value in parameters
    )
