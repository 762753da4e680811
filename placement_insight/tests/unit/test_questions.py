# SPDX-License-Identifier: Apache-2.0
"""Questions in parallel to requests of the API."""

import sys
import threading
import time

import pytest

from placement.tests.unit.objects.cloud import Cloud
from placement_insight import questions
from placement_insight.errors import InsightBusy
from placement_insight.questions import SECONDS_UNTIL_SWITCH, Insight


def test_threads_of_the_api_have_the_interpreter_back_soon_while_a_question_is_answered(
    cloud: Cloud,
) -> None:
    insight, usual = Insight(cloud.database), sys.getswitchinterval()
    with insight.question('capacity'):
        assert sys.getswitchinterval() == pytest.approx(SECONDS_UNTIL_SWITCH)
    assert sys.getswitchinterval() == usual


def test_two_applications_of_a_process_leave_the_interval_as_it_was(cloud: Cloud) -> None:
    usual = sys.getswitchinterval()
    first, second = (Insight(cloud.database).question('capacity') for _ in range(2))
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert sys.getswitchinterval() == pytest.approx(SECONDS_UNTIL_SWITCH)
    second.__exit__(None, None, None)
    assert sys.getswitchinterval() == usual


def test_two_questions_wait_for_another_one_and_others_are_refused(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, 'SECONDS_TO_WAIT', 60)
    insight, answered = Insight(cloud.database), list[str]()

    def ask() -> None:
        with insight.question('capacity'):
            answered.append('capacity')

    waiting = [threading.Thread(target=ask) for _ in range(questions.MAX_WAITING)]
    with insight.question('capacity'):
        for thread in waiting:
            thread.start()
        while insight._waiting._value:
            time.sleep(0.001)
        with pytest.raises(InsightBusy), insight.question('survival'):
            pass
        assert not answered
    for thread in waiting:
        thread.join()
    assert answered == ['capacity'] * 2


@pytest.mark.parametrize('name', sorted(questions.TAKING_NO_TURN))
def test_what_computes_nothing_is_answered_beside_a_question(cloud: Cloud, name: str) -> None:
    insight = Insight(cloud.database)
    with insight.question('capacity'), insight.question(name), insight.question(name):
        pass


def test_a_question_that_has_waited_is_refused(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, 'SECONDS_TO_WAIT', 0.01)
    insight = Insight(cloud.database)
    with (
        insight.question('capacity'),
        pytest.raises(InsightBusy),
        insight.question('capacity'),
    ):
        pass
