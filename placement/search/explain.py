# SPDX-License-Identifier: Apache-2.0
"""Why nothing was found, in one line: the condition that emptied the answer, and whether the
request could ever be served.

Only an empty answer is explained, after every tree was looked at.  What that left behind is used
again; beyond it a bounded number of trees is asked once more with a condition taken away.
"""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Iterator

from placement.search.model.request import CandidateRequest, RequestGroup
from placement.search.model.tree import Shape, Stand
from placement.search.solver.anchors import Anchors
from placement.search.solver.filters import Demand, Offer
from placement.search.solver.plan import Plan
from placement.search.solver.resolved_request import Terms
from placement.search.solver.tally import Reason

NEVER = 'the request can never fit'
NOT_NOW = 'the request fits, but the providers are full at present'

# How many shapes of trees are asked again for each condition.
MAX_SHAPES = 32

Without = Callable[[CandidateRequest], CandidateRequest]


def explain(anchors: Anchors) -> str:
    """One line about a search that found nothing."""
    terms = anchors.terms
    if terms.names_missing_tree:
        return f'No candidates: in_tree names no provider; {NEVER}.'
    for demand in terms.demands:
        verdicts = _verdicts(demand, anchors)
        if not any(isinstance(verdict, Offer) for verdict in verdicts):
            return f'No candidates: {_described(demand)}: {_last_straw(verdicts)}; {NEVER}.'
    if _could_fit_unused(anchors):
        return f'No candidates: {_what_is_full(anchors)}; {NOT_NOW}.'
    return f'No candidates: {_condition(anchors)}; {NEVER}.'


def _described(demand: Demand) -> str:
    group = f'group {demand.group.suffix!r}' if demand.is_suffixed else 'the unsuffixed group'
    amounts = ','.join(f'{name}:{amount}' for name, amount in demand.amounts.items())
    return f'{group} ({amounts})' if amounts else group


def _verdicts(demand: Demand, anchors: Anchors) -> Counter[Offer | Reason]:
    """How many providers have which verdict."""
    verdicts: Counter[Offer | Reason] = Counter()
    for plan, stand in anchors.planned():
        for kind in stand.shape.kinds:
            verdicts[demand.verdict(kind)] += len(stand.trees)
        # These are members of another tree, and counted there if it is looked at.
        for outsider in plan.stage.outsiders:
            verdicts[demand.verdict(outsider.kind)] += 0
    return verdicts


def _last_straw(verdicts: Counter[Offer | Reason]) -> str:
    """The condition that turned away the last of the providers, and what did the others.

    Conditions are tested in the order of their reasons.
    """
    counts = {reason: verdicts[reason] for reason in Reason if verdicts[reason]}
    if not counts:
        return 'there are no providers'
    *others, last = counts
    text = f'{last.value} turned away the last {counts[last]} of {sum(counts.values())} providers'
    before = ', '.join(f'{reason.value} {counts[reason]}' for reason in others)
    return f'{text} (before that: {before})' if before else text


def _could_fit_unused(anchors: Anchors) -> bool:
    """Whether the request could be served if nothing were used."""
    terms = anchors.terms
    relaxed = Terms(terms.snapshot, terms.request, terms.chance, ignores_usage=True)
    return any(
        not plan.is_hopeless
        # A plan counts on what the sharing providers of other trees have free, and on no more.
        or (plan.stage.outsiders and not Plan(relaxed, stand.trees[0]).is_hopeless)
        for plan, stand in _by_plan(anchors)
    )


def _by_plan(anchors: Anchors) -> Iterator[tuple[Plan, Stand]]:
    """Every plan with the first of the stands it is good for."""
    seen: set[Shape] = set()
    for plan, stand in anchors.planned():
        if anchors.is_special(stand) or stand.shape not in seen:
            seen.add(stand.shape)
            yield plan, stand


def _what_is_full(anchors: Anchors) -> str:
    for number, demand in enumerate(anchors.terms.demands):
        if not any(_has_room(number, plan, stand) for plan, stand in anchors.planned()):
            return f'{Reason.USED.value}: no provider has room for {_described(demand)}'
    return f'{Reason.USED.value}: no tree has room for all of it together'


def _has_room(number: int, plan: Plan, stand: Stand) -> bool:
    size = plan.stage.size
    return any(
        option.place >= size or option.offer.fits(stand.least_used[option.place])
        for option in (plan.options[number] if len(plan.options) > number else ())
    )


def _condition(anchors: Anchors) -> str:
    """The condition without which something could be found."""
    terms = anchors.terms
    asked = [stand for _, stand in itertools.islice(_by_plan(anchors), MAX_SHAPES)]
    for name, without in CONDITIONS:
        request = without(terms.request)
        if request == terms.request:
            continue
        relaxed = Terms(terms.snapshot, request, terms.chance, ignores_usage=True)
        if any(not Plan(relaxed, stand.trees[0]).is_hopeless for stand in asked):
            return f'{name} leaves no tree that could serve it'
    return f'{Reason.TREE.value}: no tree has all that is asked for together'


def _without_root_traits(request: CandidateRequest) -> CandidateRequest:
    nothing: frozenset[str] = frozenset()
    return dataclasses.replace(request, root_required=nothing, root_forbidden=nothing)


def _without_isolate(request: CandidateRequest) -> CandidateRequest:
    return dataclasses.replace(request, isolate=False)


def _without_subtree(request: CandidateRequest) -> CandidateRequest:
    return dataclasses.replace(request, same_subtree=())


def _with_groups(
    request: CandidateRequest, alter: Callable[[RequestGroup], RequestGroup]
) -> CandidateRequest:
    return dataclasses.replace(request, groups=tuple(alter(group) for group in request.groups))


def _without_traits(request: CandidateRequest) -> CandidateRequest:
    nothing: frozenset[str] = frozenset()
    return _with_groups(
        request, lambda group: dataclasses.replace(group, required=(), forbidden=nothing)
    )


def _without_aggregates(request: CandidateRequest) -> CandidateRequest:
    nothing: frozenset[str] = frozenset()
    return _with_groups(
        request,
        lambda group: dataclasses.replace(group, member_of=(), forbidden_aggregates=nothing),
    )


def _without_in_tree(request: CandidateRequest) -> CandidateRequest:
    return _with_groups(request, lambda group: dataclasses.replace(group, in_tree=None))


CONDITIONS: tuple[tuple[str, Without], ...] = (
    ('root_required', _without_root_traits),
    (Reason.ISOLATE.value, _without_isolate),
    (Reason.SUBTREE.value, _without_subtree),
    (Reason.REQUIRED_TRAIT.value, _without_traits),
    (Reason.AGGREGATE.value, _without_aggregates),
    ('in_tree', _without_in_tree),
)
