# SPDX-License-Identifier: Apache-2.0
"""Tokens of followers: which position they have, and which texts are none."""

import base64
import dataclasses
import itertools
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.feed import position as position_module
from placement.feed.position import Entry, Position, Zone
from placement_insight.bulk.follower import COUNTED, WINDOW, FollowerToken

ID = st.integers(0, 2**63 - 1)
POSITION = Position(5, 77, (997, 999, 1_000), (Zone(5, 997, 7),))
TOKEN = FollowerToken(POSITION, delivered=1_000, at=100)


@given(ID, st.sets(st.integers(1, WINDOW - 1)), ID, st.data(), st.integers(0, 2**32 - 1))
def test_a_token_has_all_of_a_position(
    head: int, seen: set[int], token: int, data: st.DataObject, at: int
) -> None:
    window = tuple(sorted(head - number for number in {0, *seen} if number <= head))
    lowest = data.draw(st.integers(0, window[0]))
    entries = data.draw(st.integers(0, window[0] - lowest))
    start = lowest if entries < window[0] - lowest else max(lowest, window[0] - COUNTED)
    zone = Zone(start, window[0], entries - (start - lowest))
    position = Position(lowest, token, window, (zone,) if start < window[0] else ())
    text = FollowerToken(position, head, at).encoded()

    assert len(text) == 108
    assert FollowerToken.decoded(text) == FollowerToken(position, head, at)


@given(st.integers(0, 50), st.sets(st.integers(100, 700), min_size=1), st.integers(1, 9))
def test_a_token_of_any_position_misses_no_gap(lowest: int, ids: set[int], zones: int) -> None:
    present = sorted({lowest, *ids})
    entries = [Entry(entry_id, 1, False, entry_id) for entry_id in present]
    gaps = [
        Zone(one + 1, two, 0)
        for one, two in itertools.pairwise(present)
        if two > one + 1 and two <= present[-zones:][0]
    ]
    position = Position.of(lowest, entries[-zones:], gaps)
    known = FollowerToken.decoded(FollowerToken(position, 0, 0).encoded()).position

    assert (known.head, known.token, known.lowest) == (present[-1], present[-1], lowest)
    assert known.window == tuple(i for i in present if i >= known.start)
    assert known.head - known.start < WINDOW
    below = [i for i in present if i < known.start]
    assert known.zones == ((Zone(lowest, known.start, len(below)),) if below else ())


@pytest.mark.parametrize('text', ['', 'A', 'AAAA', 'A' * 108, 'ä' * 108, '=' * 108, 'A' * 109])
def test_a_text_that_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match='it is'):
        FollowerToken.decoded(text)


@given(st.integers(0, 107), st.sampled_from('AZaz09-_'))
def test_a_token_with_another_letter_is_refused(place: int, letter: str) -> None:
    text = TOKEN.encoded()
    if text[place] == letter:
        return
    with pytest.raises(ValueError, match='incomplete or was altered'):
        FollowerToken.decoded(text[:place] + letter + text[place + 1 :])


def with_checksum(content: bytes) -> str:
    content += struct.pack('>I', zlib.crc32(content))
    return base64.urlsafe_b64encode(content).decode().rstrip('=')


def test_a_token_of_another_version_is_refused() -> None:
    content = base64.urlsafe_b64decode(TOKEN.encoded() + '==')[:-4]
    assert FollowerToken.decoded(with_checksum(content)) == TOKEN
    with pytest.raises(ValueError, match='another version'):
        FollowerToken.decoded(with_checksum(b'\x01' + content[1:]))


@pytest.mark.parametrize(
    ('forged', 'delivered'),
    [
        ({'window': (2**63,)}, 5),
        ({}, 1_001),
        ({'zones': (Zone(5, 997, 993),)}, 5),
        ({'lowest': 998}, 5),
        ({'token': 2**63}, 5),
    ],
)
def test_a_token_that_no_database_can_be_asked_about_is_refused(
    forged: dict[str, object], delivered: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(position_module.Position, 'narrowed', lambda position, _ids: position)
    position = dataclasses.replace(POSITION, **forged)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='another version'):
        FollowerToken.decoded(FollowerToken(position, delivered, 100).encoded())
