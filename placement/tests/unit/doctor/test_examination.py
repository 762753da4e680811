# SPDX-License-Identifier: Apache-2.0
"""Checks run in their order, for a limited time, and never raise."""

import pytest

from placement.doctor import command
from placement.doctor.check import Check, CheckResult, Code, Deployment, failure, ok, warning
from placement.doctor.command import ListedCheck
from placement.tests.unit.doctor.conftest import Configure, expect


@pytest.fixture
def deployment(configure: Configure) -> Deployment:
    return configure('[api]\nauth_strategy = noauth2\n')


def finds(result: CheckResult | None) -> Check:
    return lambda _deployment: result


def test_failure_ends_the_checks_that_need_it_and_no_other(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = finds(ok('Nobody gets here.'))
    rows = (
        ListedCheck('good', finds(ok('It is good.'))),
        ListedCheck('bad', finds(failure('It is bad.', 'Make it good.')), 'good'),
        ListedCheck('first', never, 'bad'),
        ListedCheck('second', never, 'first'),
        ListedCheck('doubtful', finds(warning('It may be better.', 'Make it better.'))),
        ListedCheck('unrelated', finds(None), 'doubtful'),
        ListedCheck('last', finds(ok('It is good, too.')), 'unrelated'),
    )
    monkeypatch.setattr(command, 'CHECKS', rows)

    results = [(name, result.code) for name, result in command.examine(deployment)]

    assert results == [
        ('good', Code.SUCCESS),
        ('bad', Code.FAILURE),
        ('doubtful', Code.WARNING),
        ('last', Code.SUCCESS),
    ]


@pytest.mark.parametrize(('strategy', 'asked'), [('keystone', True), ('noauth2', False)])
def test_keystone_is_asked_only_where_it_authenticates(
    configure: Configure, monkeypatch: pytest.MonkeyPatch, strategy: str, asked: bool
) -> None:
    monkeypatch.setattr(command, 'run_check', lambda _check, _deployment: ok())
    deployment = configure(f'[api]\nauth_strategy = {strategy}\n')

    names = {name for name, _result in command.examine(deployment)}

    of_keystone = {'identity service', 'memcached'}
    assert names & of_keystone == (of_keystone if asked else set())
    assert 'database' in names


def test_check_that_raises_is_a_failure(deployment: Deployment) -> None:
    def raise_error(_deployment: Deployment) -> CheckResult:
        raise LookupError('what is\nnot there')

    result = command.run_check(raise_error, deployment)

    expect(result, Code.FAILURE, 'The check failed with LookupError: what is not there')
