# SPDX-License-Identifier: Apache-2.0
"""The explanation and brute force say the same of every small cloud.

Each count of the funnels, the verdict, each relaxation, each pair, and what the nearest trees
miss. PLACEMENT_TEST_THOROUGH=20 tries twenty times as many, and other ones each time.
"""

import itertools

import hypothesis
from hypothesis import strategies as st

from placement.search.insight.condition import Condition, Verdict
from placement.search.insight.explain import explain_request
from placement.search.insight.explanation import RequestExplanation
from placement.search.insight.sliced_work import SlicedWork
from placement.search.model.provider import ProviderRow
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.tests.unit.search.insight import oracle
from placement.tests.unit.search.oracle import Cloud, allows_anchor, nearly_full
from placement.tests.unit.search.test_oracle import examples, questions


@st.composite
def full_questions(draw: st.DrawFn) -> tuple[list[ProviderRow], CandidateRequest]:
    """A cloud of which, in every other example, most is used, and a request."""
    rows, request = draw(questions())
    return rows if draw(st.booleans()) else nearly_full(rows, lambda: 1), request


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
                passing += oracle.passes(cloud, group, root, labels[: number + 1])
                only += not oracle.passes(cloud, group, root, labels) and oracle.passes(
                    cloud, group, root, others
                )
            assert (step.trees_before, step.trees_after, step.only) == (left, passing, only), label
            left = passing


@examples(400)
@hypothesis.given(full_questions())
def test_funnels_count_providers(question: tuple) -> None:
    rows, request = question
    cloud, answer = Cloud(rows), explained(rows, request)
    for funnel, group in zip(answer.groups, request.groups, strict=True):
        labels = oracle.labels(group)
        for number, step in enumerate(funnel.steps):
            if step.providers_after is not None:
                kept = set(labels[: number + 1])
                classes = [list(group.resources)] if group.is_suffixed else [
                    [name] for name in group.resources
                ]  # fmt: skip
                serving = [
                    row
                    for row in rows
                    if any(
                        oracle.serves(cloud, group, cloud.root(row), row, names, kept)
                        for names in classes
                    )
                ]
                assert step.providers_after == len(serving)


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


def told(answer: RequestExplanation) -> dict[frozenset[oracle.Given], tuple[int, int | None]]:
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
    assert answer.pairs_examined == answer.pairs_of
    if len(expected) <= 50:
        assert told(answer) == expected
    for relaxation in answer.relaxations:
        if len(relaxation.conditions) == 1 and relaxation.amounts:
            (given,) = relaxation.conditions
            word = (given.suffix or '', 'amount', given.names[0])
            for amount, count in relaxation.amounts:
                asked = oracle.without(request, word, amount)
                assert count == len(oracle.trees(Cloud(rows), asked))


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
            capacity, used = one.inventory
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
