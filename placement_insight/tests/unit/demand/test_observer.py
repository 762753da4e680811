# SPDX-License-Identifier: Apache-2.0
"""The log line of a search without candidates (specification: configuration, "Logging")."""

import logging
from typing import NoReturn

import pytest

from placement import errors
from placement.http.searches import MAX_UNOBSERVED, Searches
from placement.search.candidates import SearchDone
from placement.tests.unit.http.test_searches import ORIGIN, note, search
from placement.tests.unit.search.cloud import parse
from placement_insight.demand import observer
from placement_insight.demand.observer import MissObserver
from placement_insight.failures import Failures


def test_line_of_an_empty_answer_has_the_condition_and_the_verdict(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    searches = Searches('empty', [MissObserver(None, Failures())])
    searches.note(lambda: ORIGIN._replace(global_request_id=None), search('resources=VCPU:9'))
    # The answer is sent before.
    assert caplog.messages == []
    assert searches.is_due
    searches.flush()

    assert not searches.is_due
    (text,) = caplog.messages
    assert text.startswith('req-own: "GET ')
    assert text.endswith(
        'No candidates: the unsuffixed group (VCPU:9): no tree left gives 9 VCPU to one consumer; '
        'the most is 8 (the last 3 of 4 trees; before that: class missing VCPU 1); never fits, '
        'even if nothing were used.'
    )


def test_error_of_an_explanation_is_counted_and_the_search_is_logged_without_it(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_done: SearchDone) -> NoReturn:
        raise RuntimeError('out of words')

    monkeypatch.setattr(observer, 'explain_empty', fail)
    caplog.set_level(logging.INFO)
    failures = Failures()
    note(Searches('empty', [MissObserver(None, failures)]), search('resources=VCPU:9'))

    assert failures.count == 1
    failed, logged = caplog.records
    assert failed.exc_info is not None
    assert 'the request was answered nevertheless' in failed.getMessage()
    assert logged.getMessage().endswith('microversion: 1.39: No candidates.')


def test_searches_that_are_too_many_to_explain_are_logged_without_a_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    searches = Searches('empty', [MissObserver(None, Failures())])
    for _ in range(MAX_UNOBSERVED + 1):
        searches.note(lambda: ORIGIN, search('resources=VCPU:9'))
    (text,) = caplog.messages
    assert text.endswith('to look at each; not decided if it could fit.')
    searches.flush()

    assert len(caplog.messages) == MAX_UNOBSERVED + 1
    assert 'gives 9 VCPU to one consumer' in caplog.messages[-1]


def test_search_that_names_what_does_not_exist_is_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    searches = Searches('empty', [MissObserver(None, Failures())])
    wanted = parse('resources=VCPU:1&required=!CUSTOM_GONE')
    with pytest.raises(errors.BadRequest), searches.refusals(lambda: ORIGIN, wanted):
        raise errors.BadRequest('No such trait(s): CUSTOM_GONE.')

    (text,) = caplog.messages
    assert text.endswith(
        'microversion: 1.39: No candidates: No such trait(s): CUSTOM_GONE; refused, since nothing '
        'can have what does not exist.'
    )
