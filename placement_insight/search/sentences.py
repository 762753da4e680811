# SPDX-License-Identifier: Apache-2.0
"""Sentences of explanations, rendered from data: conditions, causes, and summaries.

Conditions are rendered here alone, and no code parses the sentences.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from placement.search.model.capacity import Refusal
from placement.search.model.kind import DISABLED_TRAIT, OWNER_TRAIT
from placement.search.model.request import (
    ISOLATE,
    ONE_OF_EACH_TREE,
    SUBTREE,
    RequestGroup,
    alternatives,
)
from placement_insight.search.condition import Condition, Reason, Verdict
from placement_insight.search.explanation import (
    FunnelStep,
    Relaxation,
    RequestExplanation,
    TurnedAway,
)

# Maximum number of relaxations in a summary. One reader cannot give up a zone, another one can.
MAX_RELAXATIONS = 3

# Other names of groups, by their suffix in the request.
Suffixes = Mapping[str, str]
AS_ASKED: Suffixes = MappingProxyType({})

# Nova requires this trait once it considers all hosts upgraded.
NOT_UPGRADED = 'the agent of a host without it has not been upgraded'

ENDINGS = {
    Verdict.FULL: 'full now (it would fit if nothing were used)',
    Verdict.INFEASIBLE: 'never fits, even if nothing were used',
    Verdict.UNKNOWN: 'not decided if it could fit',
    Verdict.REFUSED: 'refused, since nothing can have what does not exist',
}

# What a tree does that meets conditions without names, by reason.
_MEETING = {
    Reason.SUM: 'has room for all groups together',
    Reason.ONE_TREE: 'has all groups',
    ONE_OF_EACH_TREE.reason: 'serves the request with one of its providers',
}

BEGINNINGS = {
    Verdict.FULL: 'Full now (it would fit if nothing were used)',
    Verdict.INFEASIBLE: 'Never fits, even if nothing were used',
    Verdict.UNKNOWN: 'Not decided: the budget of the question was spent',
}


def words_of(condition: Condition, suffixes: Suffixes = AS_ASKED) -> str:
    """Render a condition, such as 'VCPU: 400 asked, largest 128 (too small)'."""
    names = ', '.join(condition.names)
    if condition.asked is not None:
        amounts = [f'{condition.asked} asked']
        if condition.most_free is not None:
            amounts.append(f'most free {condition.most_free}')
        if condition.largest is not None:
            amounts.append(f'largest {condition.largest}')
        words = f'{names}: {", ".join(amounts)}'
        return words if condition.is_met else f'{words} ({condition.reason})'
    if condition.reason == Reason.SUM:
        names = ''
    elif condition.reason == Reason.TREE_UNKNOWN:
        names = f': {names}'
    elif condition.parameter is SUBTREE:
        groups = sorted(alternatives(_name(condition)))
        names = f' {",".join(suffixes.get(suffix, suffix) for suffix in groups)}'
    elif names:
        names = f' {names}'
    concerned = f' for {", ".join(condition.classes)}' if condition.classes else ''
    detail = _detail(condition)
    return f'{condition.reason}{names}{concerned}{f" ({detail})" if detail else ""}'


def words_in_group(condition: Condition) -> str:
    """Render a condition, with its group if that has a suffix."""
    words = words_of(condition)
    return f'group {condition.suffix}: {words}' if condition.suffix else words


def _detail(condition: Condition) -> str:
    """Render the details of a condition in addition to its names."""
    parameter = condition.parameter
    if condition.scarce:
        return ', '.join(
            f'{one.resource_class}: {one.asked} asked, most free {one.most_free} in one tree'
            for one in condition.scarce
        )
    if parameter is ISOLATE:
        return f'{condition.kept_apart} groups, each on a provider of its own'
    is_owner = alternatives(_name(condition)) == {OWNER_TRAIT}
    return NOT_UPGRADED if is_owner and parameter and not parameter.is_barred else ''


def _name(condition: Condition) -> str | frozenset[str]:
    return '' if isinstance(condition.name, bool) else condition.name


def _left_words(condition: Condition) -> str:
    """Render the property of trees that meet a condition, such as 'with trait X'."""
    name = ' or '.join(sorted(alternatives(_name(condition)))) or ', '.join(condition.names)
    if condition.is_amount:
        return f'with enough {name}'
    return f'with {name}' if condition.parameter is None else condition.parameter.left.format(name)


def _meeting_words(condition: Condition, suffixes: Suffixes) -> str:
    """Render what a tree does that meets a condition, such as 'has 8 VCPU free'.

    Of a forbidden name, what a tree does that fails it.
    """
    name = ' or '.join(sorted(alternatives(_name(condition)))) or ', '.join(condition.names)
    if condition.asked is not None:
        amount = f'{condition.asked} {", ".join(condition.names)}'
        if condition.reason == Refusal.USED:
            most = '' if condition.most_free is None else f'; the most is {condition.most_free}'
            return f'has {amount} free{most}'
        why = '' if condition.reason == Refusal.TOO_SMALL else f', by {condition.reason}'
        most = '' if condition.largest is None else f'; the most is {condition.largest}{why}'
        return f'gives {amount} to one consumer{most}'
    if condition.reason in _MEETING:
        return _MEETING[condition.reason]
    if condition.parameter is ISOLATE:
        return f'has a provider for each of {condition.kept_apart} groups (isolate)'
    if condition.parameter is SUBTREE:
        groups = sorted(alternatives(_name(condition)))
        return f'has {",".join(suffixes.get(one, one) for one in groups)} in one subtree'
    words = 'with {}' if condition.parameter is None else condition.parameter.left
    if _is_barred(condition):
        words = words.replace('without ', 'with ').replace('outside of ', 'in ')
    words = words.format(name)
    words = f'has {words[5:]}' if words.startswith('with ') else f'is {words}'
    return f'{words} for {", ".join(condition.classes)}' if condition.classes else words


def _no_tree(condition: Condition, left: str, counted: str, suffixes: Suffixes = AS_ASKED) -> str:
    """Render that no tree meets a condition, with the number of trees that were left."""
    detail = '' if condition.parameter is ISOLATE else _detail(condition)
    details = '; '.join(filter(None, (detail, counted)))
    who = 'every tree' if _is_barred(condition) else 'no tree'
    return f'{who}{left} {_meeting_words(condition, suffixes)} ({details})'


def _is_barred(condition: Condition) -> bool:
    return condition.parameter is not None and condition.parameter.is_barred


def cause_words(cause: TurnedAway, suffixes: Suffixes = AS_ASKED) -> str:
    """Render the condition that turned away the last trees, and those before it."""
    step, examined, of, group, before = cause
    trees = step.trees_before
    beginning = '' if group is None else f'{_group_words(group, suffixes)}: '
    seen = _trees(examined) if examined == of else f'{_trees(examined)} examined, of {of}'
    counted = f'of {seen}' if trees == examined else f'the last {trees} of {seen}'
    earlier = ', '.join(f'{words_of(one, suffixes)} {lost}' for one, lost in before)
    counted += f'; before that: {earlier}' if earlier else ''
    left = '' if trees == examined else ' left'
    return beginning + _no_tree(step.condition, left, counted, suffixes)


def _group_words(group: RequestGroup, suffixes: Suffixes) -> str:
    return _groups_words([suffixes.get(group.suffix, group.suffix)]) + _amounts(group)


def _groups_words(suffixes: Sequence[str]) -> str:
    if suffixes == ['']:
        return 'the unsuffixed group'
    return f'{"group" if len(suffixes) == 1 else "groups"} {", ".join(suffixes)}'


def _amounts(group: RequestGroup) -> str:
    amounts = ','.join(f'{name}:{amount}' for name, amount in group.resources.items())
    return f' ({amounts})' if amounts else ''


def summary(
    answer: RequestExplanation, names: Mapping[str, str], keeps_amounts: bool = False
) -> str:
    """Summarize an explanation in one line; `names` has names of providers by uuid.

    The line has the verdict, the condition that leaves nothing, the most helpful relaxations,
    disabled hosts if they matter, and the limits of the examination. With `keeps_amounts`, as of a
    consumer that has them, no relaxation is about amounts.
    """
    if not answer.of:
        return 'There are no resource providers.'
    verdict, fitting, disabled = answer.verdict, answer.trees_fitting, answer.disabled.trees
    sentences = []
    if verdict is Verdict.FITS:
        fits = f'Fits {_trees(fitting)} of {answer.examined}' if fitting else 'Fits'
        if fitting and disabled:
            fits += f', {disabled} of them {_disabled(answer, names)}'
        sentences.append(fits)
    else:
        why = cause(answer)
        sentences.append(f'{BEGINNINGS[verdict]}{f": {why}" if why else ""}')
    if not fitting:
        helpful = [
            one for one in answer.relaxations if not (keeps_amounts and _changes_amounts(one))
        ]
        merged = _merged(helpful)[:MAX_RELAXATIONS]
        sentences += [_helpful(relaxation, suffixes) for relaxation, suffixes in merged]
        if disabled:
            are = 'is' if disabled == 1 else 'are'
            sentences.append(
                f'{_trees(disabled)} of {answer.examined} {are} {_disabled(answer, names)}'
            )
    if answer.examined < answer.of:
        sentences.append(f'Examined {answer.examined} of {_trees(answer.of)}')
    if answer.is_cut and verdict is not Verdict.UNKNOWN:
        sentences.append('Not everything that could help was tried')
    return ''.join(f'{sentence}. ' for sentence in sentences).rstrip()


def cause(answer: RequestExplanation) -> str | None:
    """Render the condition that leaves no tree; None if trees are left, or that is not decided."""
    is_decided = answer.verdict not in (Verdict.FITS, Verdict.UNKNOWN)
    return next(_causes(answer), None) if is_decided else None


def _disabled(answer: RequestExplanation, names: Mapping[str, str]) -> str:
    roots = answer.disabled.roots
    others = answer.disabled.trees - len(roots)
    named = ', '.join(names.get(uuid, uuid) for uuid in roots)
    return f'disabled ({DISABLED_TRAIT}): {named}' + (f' and {others} more' if others else '')


def _causes(answer: RequestExplanation) -> Iterator[str]:
    """Yield sentences on the conditions that leave no tree, with the condition before each."""
    left = ''
    for funnel in answer.groups:
        suffix, left = funnel.group.suffix, ''
        for step in funnel.steps:
            if step.trees_before and not step.trees_after:
                before = f'group {suffix}: ' if suffix else ''
                yield f'{before}{_ruling_out(step, left)}'
            if step.trees_after < step.trees_before:
                left = f' {_left_words(step.condition)}'
    # With several groups, the first step begins with all trees again.
    left = left if len(answer.groups) == 1 else ''
    for step in answer.combination:
        if step.trees_before and not step.trees_after:
            is_of_all = step.condition.reason == Reason.ONE_TREE
            yield _apart(answer) if is_of_all else _ruling_out(step, left)
        if step.trees_after < step.trees_before:
            left = ' left'


def _apart(answer: RequestExplanation) -> str:
    """Render the condition that one tree serves all groups: the number of trees for each."""
    alike: dict[tuple[int, str, bool], list[str]] = {}
    for funnel in answer.groups:
        group, steps = funnel.group, funnel.steps
        trees = steps[-1].trees_after if steps else answer.examined
        alike.setdefault((trees, _amounts(group), group.is_suffixed), []).append(group.suffix)
    counts = []
    for (trees, amounts, _), suffixes in alike.items():
        has, named = 'has' if trees == 1 else 'have', _groups_words(suffixes)
        ask = 'asks for' if len(suffixes) == 1 else 'ask for each'
        counts.append(f'{trees} {has} what {named}{amounts} {ask}')
    return f'no tree has what all groups ask for: {", ".join(counts)}'


def _ruling_out(step: FunnelStep, left: str) -> str:
    """Render the condition that leaves no tree of those left before it."""
    return _no_tree(step.condition, left, f'of {step.trees_before}')


def _merged(relaxations: Sequence[Relaxation]) -> list[tuple[Relaxation, list[str]]]:
    """Merge relaxations of equal groups; return each with the suffixes of its groups."""
    merged: dict[object, tuple[Relaxation, list[str]]] = {}
    for relaxation in relaxations:
        first, *others = relaxation.conditions
        alike = words_of(first), bool(first.suffix), relaxation.trees, relaxation.amounts
        key = relaxation if others else alike
        _, suffixes = merged.setdefault(key, (relaxation, []))
        suffixes.append(first.suffix or '')
    return list(merged.values())


def _changes_amounts(relaxation: Relaxation) -> bool:
    return any(one.is_amount or one.is_of_class for one in relaxation.conditions)


def relaxation_words(relaxation: Relaxation) -> str:
    """Render a relaxation, such as '60 trees would fit without required trait X'."""
    return _helpful(relaxation, [relaxation.conditions[0].suffix or ''])


def _helpful(relaxation: Relaxation, suffixes: Sequence[str]) -> str:
    """Render a relaxation of groups with these suffixes."""
    conditions = [(one, one.suffix or '') for one in relaxation.conditions]
    if len(conditions) == 1:
        conditions = [(relaxation.conditions[0], ' or '.join(suffixes))]
    amounts = [_class(one, group) for one, group in conditions if one.is_amount]
    others = [_given_up(one, group) for one, group in conditions if not one.is_amount]
    trees, parts = _trees(relaxation.trees), []
    if others:
        parts.append(f'without {" and ".join(others)}')
    if amounts:
        parts.append(f'with another amount of {" and ".join(amounts)}')
    text = f'{trees} would fit {" and ".join(parts)}'
    if relaxation.amounts:
        largest, fitting = relaxation.amounts[0]
        text += f': {largest} is the largest now, on {_trees(fitting)}'
    return text


def _given_up(condition: Condition, group: str) -> str:
    """Render a condition to give up; for a class, asking for it."""
    if condition.is_of_class:
        return f'asking for {_class(condition, group)}'
    return f'group {group}: {words_of(condition)}' if group else words_of(condition)


def _class(condition: Condition, group: str) -> str:
    """Render the class of a condition, with its group if that has a suffix."""
    (name,) = condition.names
    return f'{name} in group {group}' if group else name


def _trees(count: int) -> str:
    return '1 tree' if count == 1 else f'{count} trees'
