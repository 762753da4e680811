# SPDX-License-Identifier: Apache-2.0
"""Questions beside requests of the API."""

import sys

import pytest

from placement.insight.questions import SECONDS_UNTIL_SWITCH, Insight
from placement.tests.unit.objects.cloud import Cloud


def test_threads_of_the_api_have_the_interpreter_back_soon_while_a_question_is_answered(
    cloud: Cloud,
) -> None:
    insight, usual = Insight(cloud.database), sys.getswitchinterval()
    with insight.question('capacity'):
        assert sys.getswitchinterval() == pytest.approx(SECONDS_UNTIL_SWITCH)
    assert sys.getswitchinterval() == usual
