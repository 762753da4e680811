# SPDX-License-Identifier: Apache-2.0
"""Policy files that cannot be used, or not in full."""

import dataclasses
import os
import pathlib

import pytest

from placement.doctor import policies
from placement.doctor.account import Account
from placement.doctor.result import Status
from placement.tests.unit.doctor.conftest import Configure


def test_defaults_pass(configure: Configure) -> None:
    result = policies.check_files(configure())

    assert (result.status, result.found) == (
        Status.OK,
        'There are none; the defaults are in force.',
    )


def test_files_that_are_understood_pass(configure: Configure, directory: pathlib.Path) -> None:
    (directory / 'policy.yaml').write_text('placement:traits:list: "role:reader"')

    result = policies.check_files(configure())

    assert (result.status, result.found) == (Status.OK, f'Read: {directory}/policy.yaml.')


@pytest.mark.parametrize(
    'text', ['a: "rule:b"\nb: "rule:a"', 'placement:traits:list: [role:reader', '- a\n- b']
)
def test_file_that_the_service_refuses_is_a_failure(
    configure: Configure, directory: pathlib.Path, text: str
) -> None:
    (directory / 'policy.yaml').write_text(text)

    result = policies.check_files(configure())

    assert result.status is Status.FAILURE
    assert result.found.startswith(f'{directory}/policy.yaml: ')


@pytest.mark.parametrize(
    ('text', 'found'),
    [
        ('placement:traits:lst: "@"', 'the rule placement:traits:lst does not exist'),
        ('placement:traits:list: "rule:nobody_knows"', 'reference a rule that is not'),
        ('placement:traits:list: "role:a or or"', 'role:a or or'),
    ],
)
def test_rule_that_cannot_be_used_is_a_warning(
    configure: Configure, directory: pathlib.Path, text: str, found: str
) -> None:
    (directory / 'policy.yaml').write_text(text)

    result = policies.check_files(configure())

    assert result.status is Status.WARNING
    assert found in result.found


def test_file_that_the_service_may_not_read_is_a_failure(
    configure: Configure, directory: pathlib.Path, stranger: Account
) -> None:
    (directory / 'policy.yaml').write_text('placement:traits:list: "@"')
    deployment = dataclasses.replace(configure(), account=stranger)
    (directory / 'policy.yaml').chmod(0o600 if os.geteuid() == 0 else 0)

    result = policies.check_files(deployment)

    assert result.status is Status.FAILURE
    assert result.found == f'The user {stranger.name} may not read {directory}/policy.yaml.'
