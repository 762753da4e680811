# SPDX-License-Identifier: Apache-2.0
"""Real clients get the answers that they got from upstream."""

import dataclasses
import pathlib
from typing import Any

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
    """How the answers of a fresh service differ from the recorded ones, one line each."""
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


RECORDED: dict[str, Any] = {
    'm': 'POST',
    'p': '/resource_providers',
    'v': '1.20',
    'b': {'name': 'host'},
    's': 200,
    'rh': {
        'location': '{base}{prefix}/resource_providers/aaaaaaaa-0000-4000-8000-000000000001',
        'cache-control': 'no-cache',
        'last-modified': '{time}',
    },
    'rb': {
        'uuid': 'aaaaaaaa-0000-4000-8000-000000000001',
        'name': 'host',
        'generation': 0,
        'links': ['self', 'inventories', 'usages', 'aggregates', 'traits', 'allocations'],
        'parent_provider_uuid': None,
        'root_provider_uuid': 'aaaaaaaa-0000-4000-8000-000000000001',
    },
}


@pytest.mark.parametrize(
    ('changes', 'difference'),
    [
        ({}, None),
        ({'s': 201}, 'status 200 instead of 201'),
        ({'rb': {**RECORDED['rb'], 'generation': 1}}, 'body.generation is 0 instead of 1'),
        ({'rb': {**RECORDED['rb'], 'generation': False}}, 'body.generation is 0 instead of False'),
        ({'rb': {**RECORDED['rb'], 'pony': 1}}, 'body.pony is missing'),
        ({'rb': {'name': 'host'}}, 'body.generation is new'),
        ({'rh': {**RECORDED['rh'], 'allow': 'GET'}}, "header allow is None instead of 'GET'"),
        ({'rh': {**RECORDED['rh'], 'vary': None}}, None),
        ({'rb': {**RECORDED['rb'], 'links': ['self']}}, 'body.links is ['),
    ],
)
def test_difference_between_answers_is_reported(
    changes: dict[str, Any], difference: str | None
) -> None:
    exchange = replay.Exchange({**RECORDED, **changes})
    session = replay.Session('made up', '/placement', (exchange,))
    found = play(session)
    if difference is None:
        assert found == []
    else:
        assert any(difference in line for line in found), found


def test_errors_are_compared_by_their_detail() -> None:
    detail = 'The resource could not be found.\n\n No resource provider with uuid {} found  '
    exchange = replay.Exchange(
        {
            'm': 'GET',
            'p': '/resource_providers/pony',
            's': 404,
            'rh': {'vary': None},
            'rb': {
                'errors': [
                    {
                        'status': 404,
                        'title': 'Not Found',
                        'detail': detail.format('horse'),
                        'request_id': '{request_id}',
                    }
                ]
            },
        }
    )
    session = replay.Session('made up', '/placement', (exchange,))
    (difference,) = play(session)
    assert 'detail' in difference
    assert 'horse' in difference
    exchange.record['rb']['errors'][0]['detail'] = detail.format('pony').replace('\n\n ', '  ')
    assert play(dataclasses.replace(session, exchanges=(exchange,))) == []
