# SPDX-License-Identifier: Apache-2.0
"""The line of a search in the log (specification: configuration, "Logging")."""

import logging
from typing import NoReturn

import pytest

from placement import errors
from placement.http.searches import Finding, Miss, Searches, SearchOrigin
from placement.search.candidates import SearchDone, find_candidates
from placement.tests.unit.search.cloud import SHARING, cloud, parse, provider

CLOUD = cloud(
    provider('host1', VCPU=8, aggregates='a'),
    provider('host2', VCPU=8, aggregates='a'),
    provider('host3', VCPU=8, aggregates='a'),
    provider('share', DISK_GB=100, traits=SHARING, aggregates='a'),
)
ORIGIN = SearchOrigin('GET /allocation_candidates?resources=VCPU:1', '1.39', 'req-own', 'req-nova')


def search(query: str, **options: object) -> SearchDone:
    wanted = parse(query, **options)
    return SearchDone(CLOUD, wanted, find_candidates(CLOUD, wanted), 0.5)


def note(searches: Searches, done: SearchDone) -> None:
    """Record a search as a worker does: during the request and, deferred, after its answer."""
    searches.note(lambda: ORIGIN, done)
    searches.flush()


@pytest.mark.parametrize(
    ('query', 'options', 'ending'),
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
    query: str, options: dict[str, object], ending: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    note(Searches('all'), search(query, **options))
    start = (
        'req-own of req-nova: "GET /allocation_candidates?resources=VCPU:1" microversion: 1.39: '
    )

    assert caplog.messages == [start + ending]


@pytest.mark.parametrize(
    ('query', 'told'),
    [
        (
            'resources=VCPU:1',
            '3 candidates on 3 hosts, 1 host is withheld by A, 12 hosts are withheld by B',
        ),
        (
            'resources=VCPU:9',
            'No candidates: 1 host is withheld by A, 12 hosts are withheld by B.',
        ),
    ],
)
def test_line_tells_who_withholds_hosts(
    query: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    note(Searches('all'), search(query)._replace(withheld={'A': 1, 'B': 12}))

    assert caplog.messages[0].endswith(f' microversion: 1.39: {told}')


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
    searches = Searches(logged)
    for query in ('resources=VCPU:1', 'resources=VCPU:9'):
        note(searches, search(query))

    assert len(caplog.messages) == len(lines)
    assert all(part in text for part, text in zip(lines, caplog.messages, strict=True))
    assert [record.levelno for record in caplog.records] == [logging.INFO] * len(lines)


def test_empty_answer_of_a_search_that_was_cut_is_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    note(Searches('empty'), search('resources=VCPU:1', budget=1))

    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_searches_that_were_cut_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    searches = Searches('empty')
    for budget in (1, 16, 1, 10_000):
        note(searches, search('resources=VCPU:1', budget=budget))

    assert searches.cut == 3
    # One of them found a candidate before.
    assert [text.rpartition(': ')[2] for text in caplog.messages] == ['1.', '3.']


def test_error_of_its_own_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> NoReturn:
        raise RuntimeError('out of words')

    Searches('empty').note(fail, search('resources=VCPU:9'))

    (record,) = caplog.records
    assert record.exc_info is not None
    assert 'the request was answered nevertheless' in record.getMessage()


# Of a search whose budget was spent.
CUT = (
    'the search budget was spent after 4 steps. Searches of this process that spent '
    'search_budget: 1.'
)


@pytest.mark.parametrize(
    ('budget', 'level', 'ending'),
    [(1_000, logging.INFO, 'No candidates.'), (1, logging.WARNING, f'No candidates: {CUT}')],
)
def test_search_that_nobody_explains_is_logged(
    budget: int, level: int, ending: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    note(Searches('empty'), search('resources=VCPU:9', budget=budget))

    (record,) = caplog.records
    assert record.levelno == level
    assert record.getMessage().endswith(f'microversion: 1.39: {ending}')


def test_observers_are_told_of_searches_that_found_nothing_and_the_last_reason_counts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    seen = list[Miss]()
    observers = [
        lambda _miss: Finding('full', 'No candidates: one.'),
        lambda _miss: Finding('full', 'No candidates: another.'),
        lambda miss: seen.append(miss),
    ]
    searches = Searches('empty', observers)
    for query in ('resources=VCPU:1', 'resources=VCPU:9'):
        note(searches, search(query))

    assert [miss.request for miss in seen] == [parse('resources=VCPU:9')]
    assert [text.rpartition(': ')[2] for text in caplog.messages] == ['another.']


def test_search_that_names_what_does_not_exist_found_nothing_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    wanted = parse('resources=VCPU:1&required=!CUSTOM_GONE')
    refusals = Searches('empty').refusals(lambda: ORIGIN, wanted)
    with pytest.raises(errors.BadRequest), refusals:
        raise errors.BadRequest('No such trait(s): CUSTOM_GONE.')

    (text,) = caplog.messages
    assert text.endswith(' 1.39: No candidates: No such trait(s): CUSTOM_GONE.')
