# SPDX-License-Identifier: Apache-2.0
"""The clients and the checker of a region find defects that are planted into a right service."""

import json
import random
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import requests
import sqlalchemy as sa
from requests import adapters

from placement import deploy, direct
from placement.feed.sink import open_database
from placement.tests.functional.fixtures import applications, databases
from placement.tests.region import checker, stored
from placement.tests.region.history import Fault
from placement.tests.region.record import Record
from placement.tests.region.workload import Workload

OPTIONS = {**applications.insight_options('on'), ('placement', 'check_changes'): True}
# Seconds that a request takes, by the clock of the test.
TAKES = 0.05
WORKS_FOR = 40


class FakeClock:
    """A clock that advances by the duration of each action."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float, /) -> None:
        self.now += seconds


class Tokens:
    """The token of an administrator, for all."""

    old = new = service = 'admin'


Sent = requests.PreparedRequest


class Right(adapters.HTTPAdapter):
    """A transport that leaves the service as it is; others change what is sent or answered."""

    def __init__(self, inner: adapters.BaseAdapter, clock: FakeClock, url: str) -> None:
        super().__init__()
        self._inner = inner
        self.clock = clock
        self.url = url
        self.random = random.Random(1)
        self.is_planted = False

    def send(self, request: Sent, *_args: Any, **_options: Any) -> requests.Response:
        self.clock.sleep(TAKES)
        return self.planted(request) if self.is_planted else self.forward(request)

    def forward(self, request: Sent) -> requests.Response:
        return self._inner.send(request)

    def planted(self, request: Sent) -> requests.Response:
        return self.forward(request)


def writes(request: Sent) -> bool:
    return request.method != 'GET'


def claims(request: Sent) -> bool:
    return (
        request.method == 'PUT' and '/allocations/' in request.path_url and 'VCPU' in text(request)
    )


def text(request: Sent) -> str:
    return request.body.decode() if isinstance(request.body, bytes) else str(request.body or '')


def answer(request: Sent, status: int, document: Any = None) -> requests.Response:
    made = requests.Response()
    made.status_code, made.request, made.url = status, request, str(request.url)
    made.headers['Retry-After'] = '1'
    made._content = b'' if document is None else json.dumps(document).encode()
    return made


class Closes(Right):
    """Connections are closed without an answer."""

    def planted(self, request: Sent) -> requests.Response:
        if self.random.random() < 0.05:
            raise requests.ConnectionError
        return self.forward(request)


class AnswersAreLost(Right):
    """Some writes have no answer, and are made only after the next request.

    So does a balancer that is killed when it has passed on a request.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._late = list[Sent]()

    def planted(self, request: Sent) -> requests.Response:
        if writes(request) and self.random.random() < 0.1:
            self._late.append(request)
            raise requests.ConnectionError
        answered = self.forward(request)
        while self._late:
            self.forward(self._late.pop())
        return answered


class IsUnavailable(Right):
    """Each write is a 503 for ever."""

    def planted(self, request: Sent) -> requests.Response:
        return answer(request, 503) if writes(request) else self.forward(request)


class Refuses(Right):
    """Each claim is a 409 for ever."""

    def planted(self, request: Sent) -> requests.Response:
        return answer(request, 409) if claims(request) else self.forward(request)


class IsSlow(Right):
    """Each write takes 8 s."""

    def planted(self, request: Sent) -> requests.Response:
        self.clock.sleep(8 if writes(request) else 0)
        return self.forward(request)


class LosesEntries(Right):
    """The feed lacks a twentieth of its entries."""

    def planted(self, request: Sent) -> requests.Response:
        answered = self.forward(request)
        if not request.path_url.startswith('/insight/changes'):
            return answered
        page = answered.json()
        for member in ('providers', 'deleted'):
            page[member] = [one for one in page[member] if self.random.random() >= 0.05]
        return answer(request, 200, page)


class LosesClaims(Right):
    """A claim in ten is acknowledged and not made."""

    def planted(self, request: Sent) -> requests.Response:
        if claims(request) and self.random.random() < 0.1:
            return answer(request, 204)
        return self.forward(request)


class Doubles(Right):
    """A claim in ten is made for another consumer as well."""

    def planted(self, request: Sent) -> requests.Response:
        if claims(request) and self.random.random() < 0.1:
            other = request.copy()
            other.url = str(request.url).rpartition('/')[0] + f'/{uuid.uuid4()}'
            other.body = re.sub(
                '"consumer_generation": \\d+', '"consumer_generation": null', text(other)
            )
            self.forward(other)
        return self.forward(request)


class OverCommits(Right):
    """A claim in ten takes more than the host has; answers show what was asked for."""

    def planted(self, request: Sent) -> requests.Response:
        if not claims(request) or self.random.random() >= 0.1:
            return self.forward(request)
        answered = self.forward(request)
        engine = sa.create_engine(self.url, poolclass=sa.NullPool)
        with engine.begin() as connection:
            taken = sa.text(
                'UPDATE allocations SET used = used + 50 WHERE consumer_id = :consumer'
            )
            connection.execute(taken, {'consumer': request.path_url.rpartition('/')[2]})
        return answered


class Planted:
    """A service in this process, as clients ask it."""

    tokens = Tokens()
    urls: Mapping[str, str] = {'balancer': direct.URL}

    def __init__(self, defect: Right) -> None:
        self._defect = defect

    def session(self) -> requests.Session:
        session = requests.Session()
        session.mount(direct.URL, self._defect)
        return session

    def stored(self) -> stored.Stored | None:
        return stored.read(self._defect.url)


@pytest.fixture(scope='module')
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = f'sqlite:///{tmp_path_factory.mktemp("region")}/placement.sqlite'
    databases.migrate(made)
    return made


def judged(kind: type[Right], url: str, faults: Sequence[Fault] = ()) -> list[str]:
    """The messages of the checker about a service with a defect."""
    clock = FakeClock()
    database = open_database(configuration := applications.configured(url, OPTIONS))
    try:
        inner = direct.InProcess(deploy.application_on(database, configuration))
        defect, record = kind(inner, clock, url), Record(clock)
        load = Workload(Planted(defect), record, 1)
        defect.is_planted = True
        while record.now < WORKS_FOR:
            for client in load.clients:
                client.work()
        return checker.judge(load.ended(faults, {}))
    finally:
        database.dispose()


def test_a_right_service_has_nothing_wrong(url: str) -> None:
    assert judged(Right, url) == []


def test_a_write_that_is_made_after_its_answer_was_lost_is_right(url: str) -> None:
    assert judged(AnswersAreLost, url, [Fault('cut', 0, WORKS_FOR * 10)]) == []
    assert 'has no answer, without a fault' in judged(AnswersAreLost, url)[0]


@pytest.mark.parametrize(
    ('kind', 'found'),
    [
        (Closes, 'has no answer, without a fault'),
        (IsUnavailable, 'no write was acknowledged for .* s without a fault'),
        (Refuses, 'no claim was acknowledged for .* s without a fault'),
        (IsSlow, 'took 8.* s without a fault'),
        (LosesEntries, 'the follower has'),
        (LosesClaims, 'claim of .* was answered 204'),
        (Doubles, 'and clients know of'),
        (OverCommits, 'of VCPU in the database'),
    ],
)
def test_a_planted_defect_is_found(kind: type[Right], found: str, url: str) -> None:
    wrong = judged(kind, url)

    assert [line for line in wrong if re.search(found, line)], wrong
