# SPDX-License-Identifier: Apache-2.0
"""Real clients get the answers that they got from upstream."""

import pathlib

import pytest

from . import replay
from .fixtures import applications, client

RECORDINGS = pathlib.Path(__file__).parent / 'traffic'
SESSIONS = {
    f'{path.stem}-{number}-{session.name.rsplit(".", 1)[-1]}': session
    for path in sorted(RECORDINGS.glob('*.jsonl'))
    for number, session in enumerate(replay.read(path), start=1)
}


def play(session: replay.Session) -> list[str]:
    """The differences between answers of a fresh service and the recorded ones, one per line."""
    service = applications.Service(prefix=session.prefix)
    try:
        replayed = replay.Replay(session, client.Client(service.application, headers={}))
        return [
            f'{exchange.title}: {difference}'
            for exchange, differences in replayed.differences()
            for difference in differences
        ]
    finally:
        service.stop()


@pytest.mark.parametrize('session', SESSIONS.values(), ids=SESSIONS)
def test_replayed_session_gets_the_recorded_answers(session: replay.Session) -> None:
    assert play(session) == []


def test_every_recorded_request_is_replayed() -> None:
    assert len(SESSIONS) == 157
    assert sum(len(session.exchanges) for session in SESSIONS.values()) == 1951
