# SPDX-License-Identifier: Apache-2.0
"""Tokens of followers: what they say, and what is none."""

import base64
import dataclasses
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.feed.follower_position import Figures, FollowerPosition, bitmap
from placement.feed.position import Zone

ID = st.integers(0, 2**63 - 1)
POSITION = FollowerPosition(
    head=1_000, token=77, seen=0b1011, lowest=5, told=1_000, at=100, zone=Zone(10, 20, 7)
)
FIGURES = Figures(lowest=5, newest=1_000, in_window=3, token=77, in_zone=7)


@given(ID, ID, st.integers(0, 2**128 - 1), ID, st.integers(0, 2**32 - 1), st.tuples(ID, ID, ID))
def test_a_token_says_all_of_a_position(
    head: int, token: int, seen: int, lowest: int, at: int, zone: tuple[int, int, int]
) -> None:
    position = FollowerPosition(head, token, seen, lowest, head, at, Zone(*zone))

    text = position.encoded()
    assert len(text) == 108
    assert FollowerPosition.decoded(text) == position


@pytest.mark.parametrize('text', ['', 'A', 'AAAA', 'A' * 108, 'ä' * 108, '=' * 108, 'A' * 109])
def test_what_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match='it is'):
        FollowerPosition.decoded(text)


@given(st.integers(0, 107), st.sampled_from('AZaz09-_'))
def test_a_token_with_another_letter_is_refused(place: int, letter: str) -> None:
    text = POSITION.encoded()
    if text[place] == letter:
        return
    with pytest.raises(ValueError, match='incomplete or was altered'):
        FollowerPosition.decoded(text[:place] + letter + text[place + 1 :])


def with_checksum(content: bytes) -> str:
    content += struct.pack('>I', zlib.crc32(content))
    return base64.urlsafe_b64encode(content).decode().rstrip('=')


def test_a_token_of_another_version_is_refused() -> None:
    content = base64.urlsafe_b64decode(POSITION.encoded() + '==')[:-4]
    assert FollowerPosition.decoded(with_checksum(content)) == POSITION
    with pytest.raises(ValueError, match='another version'):
        FollowerPosition.decoded(with_checksum(b'\x02' + content[1:]))


@pytest.mark.parametrize(
    'forged',
    [
        {'head': 2**63, 'told': 2**63},
        {'told': 1_001},
        {'zone': Zone(2**63, 2**63, 0)},
        {'lowest': 2**64 - 1},
    ],
)
def test_a_token_that_no_database_can_be_asked_about_is_refused(
    forged: dict[str, int | Zone],
) -> None:
    text = dataclasses.replace(POSITION, **forged).encoded()  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='another version'):
        FollowerPosition.decoded(text)


def test_nothing_has_changed_while_every_figure_is_the_same() -> None:
    assert POSITION.is_unchanged(FIGURES)


@pytest.mark.parametrize('figure', Figures._fields)
def test_something_has_changed_when_one_figure_differs(figure: str) -> None:
    assert not POSITION.is_unchanged(FIGURES._replace(**{figure: 6}))


def test_something_is_left_to_tell_while_there_is_another_page() -> None:
    position = dataclasses.replace(POSITION, told=999)
    assert position.has_more
    assert not position.is_unchanged(FIGURES)


def test_ids_of_the_window_are_kept_as_bits() -> None:
    ids = frozenset({1_000, 999, 997, 873})
    position = dataclasses.replace(POSITION, seen=bitmap(1_000, ids | {872, 1_001}))
    assert position.seen_ids == ids
    assert position.window_start == 873
