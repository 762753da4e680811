# SPDX-License-Identifier: Apache-2.0
"""Policy files that cannot be used, or not in full."""

import dataclasses
import os
import pathlib

import pytest

from placement.doctor import configuration
from placement.doctor.check import Account, Code
from placement.tests.unit.doctor.conftest import Configure, expect


def test_defaults_pass(configure: Configure) -> None:
    expect(
        configuration.check_policies(configure()), Code.SUCCESS, 'There are none; the defaults are'
    )


@pytest.mark.parametrize(
    ('text', 'code', 'words'),
    [
        ('placement:traits:list: "role:reader"', Code.SUCCESS, 'Read: '),
        ('a: "rule:b"\nb: "rule:a"', Code.FAILURE, ''),
        ('placement:traits:list: [role:reader', Code.FAILURE, ''),
        ('- a\n- b', Code.FAILURE, ''),
        (
            'placement:traits:lst: "@"',
            Code.WARNING,
            'rule placement:traits:lst does not exist',
        ),
        ('placement:traits:list: "rule:unknown"', Code.WARNING, 'reference a rule that is not'),
        ('placement:traits:list: "role:a or or"', Code.WARNING, 'role:a or or'),
    ],
)
def test_each_fault_of_a_file_is_named(
    configure: Configure, directory: pathlib.Path, text: str, code: Code, words: str
) -> None:
    (directory / 'policy.yaml').write_text(text)

    expect(configuration.check_policies(configure()), code, f'{directory}/policy.yaml', words)


def test_file_that_the_service_may_not_read_is_a_failure(
    configure: Configure, directory: pathlib.Path, stranger: Account
) -> None:
    (directory / 'policy.yaml').write_text('placement:traits:list: "@"')
    deployment = dataclasses.replace(configure(), account=stranger)
    (directory / 'policy.yaml').chmod(0o600 if os.geteuid() == 0 else 0)

    words = f'The user {stranger.name} may not read {directory}/policy.yaml.'
    expect(configuration.check_policies(deployment), Code.FAILURE, words)
