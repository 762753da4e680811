# SPDX-License-Identifier: Apache-2.0
"""The line of a search in the log (specification: configuration, "Logging")."""

import logging
from typing import NoReturn

import pytest

from placement.insight.failures import Failures
from placement.insight.searches import Searches, SearchOrigin, line
from placement.search.candidates import Result, find_candidates
from placement.search.model.request import CandidateRequest
from placement.tests.unit.search.cloud import SHARING, cloud, parse, provider

CLOUD = cloud(
    provider('host1', VCPU=8, aggregates='a'),
    provider('host2', VCPU=8, aggregates='a'),
    provider('host3', VCPU=8, aggregates='a'),
    provider('share', DISK_GB=100, traits=SHARING, aggregates='a'),
)
ORIGIN = SearchOrigin('GET /allocation_candidates?resources=VCPU:1', '1.39', 'req-own', 'req-nova')


def search(query: str, **options: object) -> tuple[CandidateRequest, Result]:
    wanted = parse(query, **options)
    return wanted, find_candidates(CLOUD, wanted)


@pytest.mark.parametrize(
    ('query', 'options', 'told'),
    [
        ('resources=VCPU:1', {}, '3 candidates on 3 hosts'),
        ('resources=VCPU:1,DISK_GB:1', {}, '3 candidates on 3 hosts'),
        ('resources=DISK_GB:1', {}, '1 candidates on 0 hosts'),
        ('resources=VCPU:1&limit=2', {}, '2 candidates on 2 hosts, cut by limit after 2 trees'),
        ('resources=VCPU:1&limit=9', {}, '3 candidates on 3 hosts'),
        (
            'resources=VCPU:1&limit=2',
            {'bound': 1},
            '1 candidates on 1 hosts, cut by max_allocation_candidates after 1 trees',
        ),
        (
            'resources=VCPU:1',
            {'budget': 16},
            '1 candidates on 1 hosts, cut by search_budget after 2 trees',
        ),
    ],
)
def test_line_tells_how_much_was_found_and_what_cut_it(
    query: str, options: dict[str, object], told: str
) -> None:
    wanted, result = search(query, **options)
    start = (
        'req-own of req-nova: "GET /allocation_candidates?resources=VCPU:1" microversion: 1.39: '
    )

    assert line(ORIGIN, wanted, result) == start + told


def test_line_of_an_empty_answer_has_the_condition_and_the_verdict() -> None:
    text = line(ORIGIN._replace(global_request_id=None), *search('resources=VCPU:9'))

    assert text.startswith('req-own: "GET ')
    assert text.endswith(
        'No candidates: the unsuffixed group (VCPU:9): VCPU: 9 asked, largest 8 (too small) '
        'turned away the last 3 of 4 trees (before that: class missing VCPU 1); infeasible as '
        'the cloud is configured.'
    )


@pytest.mark.parametrize(
    ('logged', 'lines'),
    [
        ('all', ['3 candidates on 3 hosts', 'No candidates']),
        ('empty', ['No candidates']),
        ('none', []),
    ],
)
def test_option_says_which_searches_are_logged(
    logged: str, lines: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    searches = Searches(logged, None, Failures())
    for query in ('resources=VCPU:1', 'resources=VCPU:9'):
        searches.note(lambda: ORIGIN, *search(query))

    assert len(caplog.messages) == len(lines)
    assert all(part in text for part, text in zip(lines, caplog.messages, strict=True))
    assert {record.levelno for record in caplog.records} <= {logging.INFO}


def test_empty_answer_of_a_search_that_was_cut_is_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    Searches('empty', None, Failures()).note(lambda: ORIGIN, *search('resources=VCPU:1', budget=1))

    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_searches_that_were_cut_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    searches = Searches('empty', None, Failures())
    for budget in (1, 16, 1, 10_000):
        searches.note(lambda: ORIGIN, *search('resources=VCPU:1', budget=budget))

    assert searches.cut == 3
    # One of them found a candidate before.
    assert [text.rpartition(': ')[2] for text in caplog.messages] == ['1.', '3.']


def test_error_of_its_own_is_logged_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> NoReturn:
        raise RuntimeError('out of words')

    failures = Failures()
    Searches('empty', None, failures).note(fail, *search('resources=VCPU:9'))

    assert failures.count == 1
    (record,) = caplog.records
    assert record.exc_info is not None
    assert 'the request was answered nevertheless' in record.getMessage()
