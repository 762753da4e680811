# SPDX-License-Identifier: Apache-2.0
"""Replay of recorded reads, and the report about them."""

import json
import socket
from collections import Counter
from typing import Any, cast

import pytest

from placement.tests.functional.fixtures.client import Answer
from placement.tests.functional.fixtures.workers import Workers
from tools.rehearse import report
from tools.rehearse.access_log import AccessLog, Request
from tools.rehearse.rendering import as_html, as_text
from tools.rehearse.replay import Kind, Outcome, compare, value_differences
from tools.rehearse.services import Program, Reply, Service

REQUEST = Request('/resource_providers/a/inventories', '1.39')


def reply(body: Any = None, status: int = 200) -> Reply:
    headers = {'content-type': 'application/json'}
    return Reply(Answer(status, headers, json.dumps(body).encode()), 0.25)


def error(status: int) -> Reply:
    return reply({'errors': [{'detail': 'Of whatever.', 'request_id': f'req-{status}'}]}, status)


NO_REPLY = Reply(None, 60.0)
SAME = reply({'inventories': {'VCPU': {'total': 8}}})
OTHER = reply({'inventories': {'VCPU': {'total': 9}}})


@pytest.mark.parametrize(
    ('ours', 'theirs', 'kind'),
    [
        (SAME, SAME, Kind.SAME),
        (error(404), error(404), Kind.SAME),
        (OTHER, SAME, Kind.NEW),
        (error(404), SAME, Kind.NEW),
        (NO_REPLY, SAME, Kind.NEW),
        (NO_REPLY, NO_REPLY, Kind.NEW),
        (error(503), SAME, Kind.NEW),
        (error(500), error(500), Kind.NEW),
        (SAME, error(500), Kind.FAILED),
        (error(400), error(500), Kind.KNOWN),
        (SAME, NO_REPLY, Kind.UNFINISHED),
    ],
)
def test_compare_tells_what_became_of_a_read(ours: Reply, theirs: Reply, kind: Kind) -> None:
    assert compare(REQUEST, 1, ours, theirs).kind is kind


def test_value_differences_name_the_places() -> None:
    ours = {'a': {'b': 1, 'c': [1, 2]}, 'd': 1, 'request_id': 'x'}
    theirs = {'a': {'b': 2, 'c': [2, 3]}, 'e': None, 'request_id': 'y'}
    assert [*value_differences(ours, theirs)] == [
        'a.b: upstream 2, this service 1',
        'a.c: only upstream has 3',
        'a.c: only this service has 1',
        'd: upstream absent, this service 1',
        'e: upstream null, this service absent',
    ]


def findings(*outcomes: Outcome, back: tuple[Outcome, ...] = ()) -> report.Findings:
    programs = Program('upstream', '', '16.0.0', ''), Program('this service', '', '2026.12.0', '')
    return report.Findings(
        inputs=('placement.sql', 'SQLite', 'access.log'),
        log=AccessLog('haproxy', Counter(one.request for one in outcomes), 3, 4, 5, 6),
        outcomes=outcomes,
        back=back,
        sides={
            name: report.Side(program, SAME, 2048)
            for name, program in zip(('theirs', 'ours'), programs, strict=True)
        },
        steps=[],
        changed=[('traits', 1, 2)],
        odd=[('providers without a name', 2, 'uuid', 'PUT a name')],
        deadline=60,
    )


def test_report_has_every_kind() -> None:
    search = Request('/allocation_candidates?resources=VCPU:1', '1.36')
    found = findings(
        compare(REQUEST, 7, OTHER, SAME),
        compare(search, 2, SAME, NO_REPLY),
        compare(search, 1, SAME, error(500)),
        back=(compare(REQUEST, 7, OTHER, SAME),),
    )
    text = as_text(report.sections(found))
    for expected in (
        'GET /resource_providers/a/inventories (1.39), 7 times',
        'inventories.VCPU.total: upstream 8, this service 9',
        'inventories.VCPU.total: upstream before 8, upstream after 9',
        'GET /allocation_candidates?resources=VCPU:1  1.36                   2    250.0',
        '1 reads were not finished within 60 s. 1 were answered with a 5xx.',
        'traits: 1 rows removed, 2 added',
        'providers without a name     2  uuid     PUT a name',
        'lines of the log that are cut off        5',
    ):
        assert expected in text
        assert expected.split('  ')[0] in as_html(report.sections(found))
    assert len(found.new) == 2


def test_report_counts_no_difference_back_in_the_order_of_candidates() -> None:
    one = Outcome(REQUEST, 1, SAME, OTHER, Kind.KNOWN, 'Order of candidates')
    assert findings(back=(one,)).new == []
    assert findings(back=(one._replace(title='Letter case'),)).new


class Hanging:
    """A worker that never answers; `replaced` counts those that were killed."""

    def __init__(self, listening: socket.socket) -> None:
        self.port = listening.getsockname()[1]
        self.replaced = 0

    def replace_one(self, _position: int) -> None:
        self.replaced += 1

    def wait(self) -> None:
        """Return at once: the service has started."""

    def peak_memory(self) -> int:
        return 1000 - self.replaced


def test_service_that_does_not_answer_in_time_is_started_again() -> None:
    with socket.create_server(('127.0.0.1', 0)) as listening:
        workers = Hanging(listening)
        program = Program('upstream', '', '16.0.0', '')
        service = Service(program, cast(Workers, workers), deadline=0.05)
        found = service.get(REQUEST)
    assert found.answer is None
    assert found.seconds >= 0.05
    assert workers.replaced == 2
    # The peak is that of all of them.
    assert service.peak_memory() == 1000
