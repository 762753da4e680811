# SPDX-License-Identifier: Apache-2.0
"""Questions beside requests of the API."""

import sys
import threading
import time

import pytest

from placement import errors
from placement.insight import questions
from placement.insight.questions import SECONDS_UNTIL_SWITCH, Insight
from placement.tests.unit.objects.cloud import Cloud


def test_threads_of_the_api_have_the_interpreter_back_soon_while_a_question_is_answered(
    cloud: Cloud,
) -> None:
    insight, usual = Insight(cloud.database), sys.getswitchinterval()
    with insight.question('capacity'):
        assert sys.getswitchinterval() == pytest.approx(SECONDS_UNTIL_SWITCH)
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
        with pytest.raises(errors.InsightBusy), insight.question('survival'):
            pass
        assert not answered
    for thread in waiting:
        thread.join()
    assert answered == ['capacity'] * 2


def test_a_question_that_has_waited_is_refused(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, 'SECONDS_TO_WAIT', 0.01)
    insight = Insight(cloud.database)
    with (
        insight.question('capacity'),
        pytest.raises(errors.InsightBusy),
        insight.question('capacity'),
    ):
        pass
