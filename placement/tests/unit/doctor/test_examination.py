# SPDX-License-Identifier: Apache-2.0
"""Checks run in series, for a limited time, and never raise."""

import sys
import threading
import time

import pytest

from placement.doctor import examination, result
from placement.doctor.deployment import Check, Deployment
from placement.doctor.result import Result
from placement.tests.unit.doctor.conftest import Configure


@pytest.fixture
def deployment(configure: Configure) -> Deployment:
    return configure()


def finds(found: Result | None) -> Check:
    def check_something(_deployment: Deployment) -> Result | None:
        return found

    return check_something


GOOD = result.ok('good', 'It is good.')
BAD = result.failure('bad', 'It is bad.', 'Make it good.')
DOUBTFUL = result.warning('doubtful', 'It may be better.', 'Make it better.')


def test_failure_ends_its_series_and_no_other(deployment: Deployment) -> None:
    never = finds(result.ok('never', 'Nobody gets here.'))
    checks = ((finds(GOOD), finds(BAD), never), (finds(DOUBTFUL), finds(None), finds(GOOD)))

    assert list(examination.examine(deployment, checks)) == [GOOD, BAD, DOUBTFUL, GOOD]


def test_check_of_several_series_runs_once_and_ends_each(deployment: Deployment) -> None:
    bad = finds(BAD)

    results = examination.examine(deployment, ((bad, finds(GOOD)), (bad, finds(DOUBTFUL))))

    assert list(results) == [BAD]


def test_check_that_raises_is_a_failure(deployment: Deployment) -> None:
    def check_the_impossible(_deployment: Deployment) -> Result:
        raise LookupError('what is\nnot there')

    found = examination.run(check_the_impossible, deployment)

    assert found is not None
    assert found.name == 'the impossible'
    assert found.status is result.Status.FAILURE
    assert found.found == 'The check failed with LookupError: what is not there'


def test_check_that_does_not_end_is_a_failure(deployment: Deployment) -> None:
    end = threading.Event()

    def check_for_ever(_deployment: Deployment) -> None:
        end.wait()

    began = time.monotonic()
    found = examination.run(check_for_ever, deployment, timeout=0.1)
    took = time.monotonic() - began
    end.set()

    assert took < 5
    assert found is not None
    assert found.found == 'The check did not end within 0.1 s.'


def test_every_check_of_the_package_runs() -> None:
    listed = {check for series in examination.CHECKS for check in series}
    modules = {check.__module__ for check in listed}
    defined = {
        value
        for module in map(sys.modules.__getitem__, modules)
        for name, value in vars(module).items()
        if name.startswith('check_') and value.__module__ == module.__name__
    }

    assert listed == defined
