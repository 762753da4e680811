# SPDX-License-Identifier: Apache-2.0
"""The explanation and brute force say the same of every small cloud.

Each count of the funnels, the verdict, each relaxation, each pair, and what the nearest trees
miss. PLACEMENT_TEST_THOROUGH=20 tries ten times as many, and other ones each time.
"""

import itertools
from unittest import mock

import hypothesis
from hypothesis import strategies as st

from placement.search.model.capacity import Refusal
from placement.search.model.provider import InventoryRow, ProviderRow
from placement.search.model.request import CandidateRequest, RequestGroup
from placement.search.model.snapshot import Snapshot
from placement.tests.unit.search.oracle import Cloud, allows_anchor, nearly_full
from placement.tests.unit.search.test_oracle import (
    CLASSES,
    TRAITS,
    TREES,
    choose_cloud,
    chooser,
    examples,
    questions,
    subsets,
)
from placement_insight.search import empty_search, telling_trees
from placement_insight.search.condition import Condition, Verdict
from placement_insight.search.explain import explain_request
from placement_insight.search.explanation import RequestExplanation
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.tests.unit.search import oracle
from placement_insight.tests.unit.search.explained import find_explanation


@st.composite
def full_questions(draw: st.DrawFn) -> tuple[list[ProviderRow], CandidateRequest]:
    """A cloud of which, in every other example, most is used, and a request."""
    rows, request = draw(questions())
    return rows if draw(st.booleans()) else nearly_full(rows, lambda: 1), request


@st.composite
def collecting_questions(draw: st.DrawFn) -> tuple[list[ProviderRow], CandidateRequest]:
    """A request of which several providers bring the traits together, and a cloud of trees."""
    choose = chooser(draw)
    rows = [
        row._replace(
            inventories={name: InventoryRow(choose((2, 5, 9))) for name in row.inventories}
        )
        for row in choose_cloud(choose, [shape for shape in TREES if 1 < len(shape) < 4])
    ]
    classes = choose([*itertools.permutations([*CLASSES, 'NONE'], 2), tuple(CLASSES)])
    amounts = choose([*itertools.product((1, 4, 20), repeat=3)])
    wanted = choose([subset for subset in subsets(TRAITS, 2) if subset])
    group = RequestGroup(
        resources=dict(zip(classes, amounts, strict=False)),
        required=tuple(frozenset((name,)) for name in sorted(wanted)),
    )
    return rows, CandidateRequest((group,))


def explained(rows: list[ProviderRow], request: CandidateRequest) -> RequestExplanation:
    """The explanation without any bound."""
    work = SlicedWork(pause=lambda: None)
    return explain_request(Snapshot.of(rows), request, work)


def label_of(condition: Condition) -> str:
    """The reason as the oracle has it, which knows one for all that an empty provider refuses."""
    by_capacity = {'min_unit', 'max_unit', 'step_size', 'reserved'}
    return 'too small' if condition.reason in by_capacity else condition.reason


@examples(600)
@hypothesis.given(full_questions())
def test_funnels_count_what_brute_force_counts(question: tuple) -> None:
    rows, request = question
    cloud, answer = Cloud(rows), explained(rows, request)
    assert answer.examined == answer.of == len(cloud.roots)
    for funnel, group in zip(answer.groups, request.groups, strict=True):
        assert funnel.group == group
        labels = oracle.labels(group)
        assert [
            (label_of(step.condition), step.condition.names[0]) for step in funnel.steps
        ] == labels
        left = len([r for r in cloud.roots if oracle.passes(cloud, group, r, [])])
        for number, (step, label) in enumerate(zip(funnel.steps, labels, strict=True)):
            others = [one for one in labels if one != label]
            passing, only = 0, 0
            for root in cloud.roots:
                passes = oracle.passes(cloud, group, root, labels[: number + 1])
                passing += passes
                only += not passes and oracle.passes(cloud, group, root, others)
            assert (step.trees_before, step.trees_after, step.only) == (left, passing, only), label
            left = passing


@examples(600)
@hypothesis.given(full_questions())
def test_combination_counts_what_brute_force_counts(question: tuple) -> None:
    rows, request = question
    cloud, answer = Cloud(rows), explained(rows, request)
    expected = oracle.combination(cloud, request)
    left = {root.uuid for root in cloud.roots}
    if len(request.groups) == 1:
        left = oracle.serving_each_group(cloud, request)
    for step, (given, passing) in itertools.zip_longest(answer.combination, expected):
        if step is None:
            # Groups that do not get in each other's way lose nothing together.
            assert left <= passing
            continue
        only = None
        if given is not None:
            without = oracle.trees(cloud, oracle.without(request, [given]))
            only = len((left - passing) & without)
        after = left & passing
        found = (step.trees_before, step.trees_after, step.only)
        assert found == (len(left), len(after), only), step
        left = after


@examples(600)
@hypothesis.given(full_questions())
def test_verdict_and_number_of_trees(question: tuple) -> None:
    rows, request = question
    cloud, answer = Cloud(rows), explained(rows, request)
    fitting = oracle.trees(cloud, request)
    assert answer.trees_fitting == len(fitting)
    if fitting:
        assert answer.verdict is Verdict.FITS
    elif oracle.trees(cloud.unused(), request):
        assert answer.verdict is Verdict.FULL
    else:
        assert answer.verdict is Verdict.INFEASIBLE


def relaxed(
    answer: RequestExplanation,
) -> dict[frozenset[oracle.Given], tuple[int, int | None]]:
    """The relaxations in the words of the oracle."""
    return {
        frozenset(
            (
                one.suffix,
                'amount'
                if one.asked is not None
                else {'class missing': 'class'}.get(one.reason, one.reason),
                one.names[0] if one.names else '',
            )
            for one in relaxation.conditions
        ): (relaxation.trees, relaxation.largest)
        for relaxation in answer.relaxations
    }


@examples(400)
@hypothesis.given(full_questions())
def test_every_relaxation_is_found_and_counted(question: tuple) -> None:
    rows, request = question
    answer = explained(rows, request)
    expected = oracle.relaxations(Cloud(rows), request)
    assert not answer.is_cut
    if len(expected) <= 50:
        assert relaxed(answer) == expected
    check_suggestions(Cloud(rows), request, answer)


@examples(2000)
@hypothesis.given(collecting_questions())
def test_suggestions_for_traits_of_several_providers_are_true(question: tuple) -> None:
    rows, request = question
    answer = explained(rows, request)
    assert relaxed(answer) == oracle.relaxations(Cloud(rows), request)
    check_suggestions(Cloud(rows), request, answer)


def check_suggestions(cloud: Cloud, request: CandidateRequest, answer: RequestExplanation) -> None:
    """Ask for each suggestion, and for each amount of each."""
    for relaxation, given in zip(answer.relaxations, relaxed(answer), strict=True):
        assert oracle.relaxed_trees(cloud, request, tuple(given))[0] == relaxation.trees
        assert oracle.can_be_asked(oracle.without(request, given, (1, 1)))
        for amount, count in relaxation.amounts:
            assert len(oracle.trees(cloud, oracle.without(request, given, [amount]))) == count


@examples(250)
@hypothesis.given(full_questions())
def test_nearest_trees_miss_least(question: tuple) -> None:
    rows, request = question
    cloud, answer = Cloud(rows), explained(rows, request)
    fitting = oracle.trees(cloud, request)
    missing = [root for root in cloud.roots if root.uuid not in fitting]
    assert len(answer.nearest) == min(5, len(missing))
    unused = oracle.trees(cloud.unused(), request)
    fewest = {root.uuid: max(failures(cloud, request, root), 1) for root in missing}
    expected = sorted((root not in unused, count) for root, count in fewest.items())
    told_failures = []
    for report in answer.nearest:
        assert report.verdict is not Verdict.FITS
        assert len(report.failed) == fewest[report.root]
        told_failures.append((report.root not in unused, len(report.failed)))
        by_uuid = {row.uuid: row for row in rows}
        for one in report.missing:
            row = by_uuid[one.provider.uuid]
            (name,), asked = one.condition.names, one.condition.asked
            assert asked is not None
            assert not oracle.fits(row, name, asked)
            capacity, used = one.provider.inventory(name)
            inventory = row.inventories[name]
            assert (used, capacity.total) == (inventory.used, inventory.total)
    assert told_failures == expected[:5]


def failures(cloud: Cloud, request: CandidateRequest, root: ProviderRow) -> int:
    """The smallest number of conditions on groups and root without which the tree passes."""
    count = len(request.root_required - set(root.traits))
    count += len(request.root_forbidden & set(root.traits))
    assert bool(count) is not allows_anchor(request, root)
    for group in request.groups:
        labels = oracle.labels(group)
        count += next(
            size
            for size in range(len(labels) + 1)
            for given in itertools.combinations(labels, size)
            if oracle.passes(cloud, group, root, [one for one in labels if one not in given])
        )
    return count


@examples(150)
@hypothesis.given(full_questions())
def test_report_on_a_tree_tells_its_verdict(question: tuple) -> None:
    rows, request = question
    cloud, snapshot = Cloud(rows), Snapshot.of(rows)
    now, unused = oracle.trees(cloud, request), oracle.trees(cloud.unused(), request)
    for row in rows:
        work = SlicedWork(pause=lambda: None)
        report = explain_request(snapshot, request, work, provider=row.uuid).provider
        root = cloud.root(row).uuid
        assert report is not None
        assert report.root == root
        expected = Verdict.FULL if root in unused else Verdict.INFEASIBLE
        assert report.verdict is (Verdict.FITS if root in now else expected)
        assert bool(report.failed) is (root not in now)


@examples(1500)
@hypothesis.given(full_questions())
def test_cause_does_not_contradict_the_verdict(question: tuple) -> None:
    """However few trees are examined: what would fit if nothing were used lacks room alone."""
    rows, request = question
    with (
        mock.patch.object(empty_search, 'EXAMINED_STEPS', 0),
        mock.patch.object(telling_trees, 'MAX_RARE', 0),
    ):
        explanation = find_explanation(Snapshot.of(rows), request)
    if explanation is not None and explanation.verdict is Verdict.FULL:
        cause = explanation.cause
        # Without a group, it is a condition on all of them: each tree that meets it now lacks room
        # for some group.
        assert (
            isinstance(cause, str)
            or cause.group is None
            or (cause.step.condition.reason == Refusal.USED)
        )
