# SPDX-License-Identifier: Apache-2.0
"""Each fault is found, named and repaired, and what is no fault is not reported."""

import pathlib
import re

import pytest

from osc_placement_insight.audit import kinds, repair
from osc_placement_insight.tests.audit import cases, interruptions
from osc_placement_insight.tests.audit.cases import CASES, Build
from osc_placement_insight.tests.audit.clouds import Cloud

GUIDE = pathlib.Path(__file__).parents[4] / 'doc' / 'source' / 'audit-and-repair.rst'


@pytest.mark.parametrize('build', CASES, ids=lambda build: build.__name__)
def test_faults_are_found_and_those_that_need_no_decision_are_repaired(
    cloud: Cloud, build: Build, tmp_path: pathlib.Path
) -> None:
    expected = CASES[build]
    subject = cases.built(cloud, build)

    findings = cloud.audit()
    found = [(finding.kind, finding.subject) for finding in findings]
    assert found == ([(expected.kind, subject)] if expected.kind else [])
    chosen = repair.proposals(findings)
    assert len(chosen) == expected.is_repaired
    if expected.is_repaired:
        (result,) = interruptions.repair(cloud, chosen, tmp_path / 'journal')
        assert result.event == 'done'
        assert cloud.audit() == []


@pytest.mark.parametrize(
    'build',
    [cases.unknown_consumer, cases.unused_trait, cases.unused_resource_class],
    ids=lambda build: build.__name__,
)
def test_a_kind_that_is_named_is_repaired(
    cloud: Cloud, build: Build, tmp_path: pathlib.Path
) -> None:
    cases.built(cloud, build)
    findings = cloud.audit()
    chosen = repair.proposals(findings, [finding.kind for finding in findings])

    interruptions.repair(cloud, chosen, tmp_path / 'journal')

    assert cloud.audit() == []


def test_each_kind_has_a_case_that_shows_it_and_a_row_of_the_guide() -> None:
    section = GUIDE.read_text().partition('What is found\n')[2].partition('What is no fault\n')[0]

    assert re.findall(r'   \* - ``(.+)``\n', section) == [*kinds.KINDS]
    assert {case.kind for case in CASES.values() if case.kind} == {*kinds.KINDS}
