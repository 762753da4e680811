# SPDX-License-Identifier: Apache-2.0
"""The version that a request asks for, where gabbits/negotiation.yaml sends no such header.

Specification: http, "Microversions".
"""

from __future__ import annotations

from typing import Any

import pytest

from placement import errors, microversions
from placement.http import microversion
from placement.http.microversion import Microversion
from placement.http.reply import Reply


@pytest.mark.parametrize(
    ('header', 'version'),
    [
        ('', '1.0'),
        ('Placement latest', microversions.NEWEST),
        ('compute 2.5,placement 1.10', '1.10'),
        ('placement 1.12, placement 1.10', '1.10'),
        ('compute, placement 1.10', '1.10'),
        ('latest', '1.0'),
        ('placement   1.10', '1.10'),
    ],
)
def test_header_selects_the_version(header: str, version: str) -> None:
    assert str(microversion.negotiated(microversions.APIS, header).version) == version


@pytest.mark.parametrize(
    ('version', 'refusal'),
    [
        *((version, errors.UnacceptableVersion) for version in ('10.1', '0.0', '1.100')),
        *((version, errors.InvalidVersion) for version in ('Latest', '1.', '.1', '1;10', 'v1.10')),
        ('9' * 5000 + '.1', errors.PlacementError),
        ('1.' + '1' * 5000, errors.PlacementError),
    ],
)
def test_version_that_is_unknown_or_malformed_is_refused(
    version: str, refusal: type[errors.PlacementError]
) -> None:
    with pytest.raises(refusal) as raised:
        microversion.negotiated(microversions.APIS, f'placement {version}')

    assert raised.value.status in (400, 406)


def change(letter: str) -> Microversion:
    """A change that leaves its letter in bodies and in replies."""

    def upgrade(body: Any) -> Any:
        return body + letter

    def downgrade(reply: Reply) -> Reply:
        return reply.with_body(reply.body + letter)

    version = f'1.{"abc".index(letter)}'
    return Microversion(version, '', upgrades={'sing': upgrade}, downgrades={'sing': downgrade})


def test_bodies_are_upgraded_oldest_change_first_and_replies_downgraded_newest_first() -> None:
    oldest, *_, newest = microversion.fold(map(change, 'abc')).values()

    assert oldest.upgraded('sing', '') == 'bc'
    assert oldest.downgraded('sing', Reply('')).body == 'cb'
    assert newest.upgraded('sing', '') == newest.downgraded('sing', Reply('')).body == ''
