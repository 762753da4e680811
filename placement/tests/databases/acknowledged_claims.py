# SPDX-License-Identifier: Apache-2.0
"""Claims that were acknowledged, read back and released through every machine of a service."""

import contextlib
import random
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import requests

from placement.tests.functional.fixtures import clouds
from placement.tests.functional.fixtures.client import Answer, Sender
from placement.tests.waiting import wait_until

#: Threads for each machine.
THREADS = 2

#: The requests that one connection is kept for, and the seconds that an answer may take.
REQUESTS_OF_CONNECTION = 60
TIMEOUT = 300

HEADERS = {'x-auth-token': 'admin', 'openstack-api-version': 'placement latest'}


class HttpSender(threading.local):
    """Sends requests to an address; each thread has a connection, and now and then a new one."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session = requests.Session()
        self._sent = 0

    def send(self, method: str, path: str, body: Any = None, version: str | None = None) -> Answer:
        """Return the answer to one request.

        :raises RequestException: there is none
        """
        if self._sent % REQUESTS_OF_CONNECTION == 0:
            self._session.close()
            self._session = requests.Session()
        self._sent += 1
        answer = self._session.request(
            method, self._url + path, json=body, headers=HEADERS, timeout=TIMEOUT
        )
        return Answer(answer.status_code, {}, answer.content)


class AcknowledgedClaims:
    """Clients that claim, read, change and release, and note each answer from before a write.

    Each client is the only one that writes its consumers, and it waits for each answer. So an
    answer that does not know the write before it is an old one, whichever machine gave it.
    Without `may_refuse` a 503 is noted as well.
    """

    def __init__(self, machines: Sequence[Sender], may_refuse: bool = True) -> None:
        self._machines = machines
        self._may_refuse = may_refuse
        self._has_ended = threading.Event()
        #: Number of acknowledged writes, and messages about wrong or missing answers.
        self.count = 0
        self.wrong_answers: list[str] = []

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Run clients on all machines, and check at the end that no answer was wrong."""
        clients = [
            threading.Thread(target=self._work, args=(self._provider(),))
            for _ in range(THREADS * len(self._machines))
        ]
        for client in clients:
            client.start()
        try:
            yield
            wait_until(lambda: self.count > 30 or self.wrong_answers, lambda: self.count, 300)
        finally:
            self._has_ended.set()
            for client in clients:
                client.join()
        print(self.count, 'writes acknowledged')
        assert not self.wrong_answers, '\n'.join(self.wrong_answers)

    def wait_for_another(self) -> None:
        """Return when one more write has been acknowledged."""
        count = self.count
        wait_until(lambda: self.count > count)

    def _provider(self) -> str:
        """Create a provider that one client has to itself."""
        machine = self._machines[0]
        provider = str(uuid.uuid4())
        created = machine.send('POST', '/resource_providers', {'name': provider, 'uuid': provider})
        assert created.status == 200, created
        inventories = {'VCPU': {'total': 1_000_000}}
        body = {'resource_provider_generation': 0, 'inventories': inventories}
        path = f'/resource_providers/{provider}/inventories'
        assert machine.send('PUT', path, body).status == 200
        return provider

    def _work(self, provider: str) -> None:
        generation = 0
        while not self._has_ended.is_set():
            generation = self._claim_and_release(provider, generation)

    def _claim_and_release(self, provider: str, generation: int) -> int:
        """Take a consumer through its life; returns the generation of the provider at its end."""
        path = f'/allocations/{uuid.uuid4()}'
        for expected, amount in ((None, 1), (1, 2)):
            body = clouds.claim({provider: {'VCPU': amount}}, expected)
            if not self._is_done('PUT', path, body):
                return generation
            answer = self._send('GET', path)
            if answer.status == 200:
                allocations = answer.json['allocations']
                resources = allocations.get(provider, {}).get('resources')
                if resources != {'VCPU': amount}:
                    self._note('GET', path, answer)
            generation = self._newer_generation(provider, generation)
        if self._is_done('DELETE', path):
            answer = self._send('GET', path)
            if answer.status == 200 and answer.json['allocations']:
                self._note('GET', path, answer)
        return generation

    def _newer_generation(self, provider: str, generation: int) -> int:
        """Read the generation of a provider, which must not be lower than in an earlier answer."""
        path = f'/resource_providers/{provider}'
        answer = self._send('GET', path)
        if answer.status == 503:
            return generation
        if answer.status != 200 or answer.json['generation'] < generation:
            self._note('GET', path, answer)
            return generation
        found: int = answer.json['generation']
        return found

    def _is_done(self, method: str, path: str, body: Any = None) -> bool:
        """Write once; an answer other than 204 and 503 is of old data."""
        answer = self._send(method, path, body)
        if answer.status == 204:
            self.count += 1
            return True
        is_conflict = answer.status == 409 and 'expected' not in answer.text
        if answer.status != 503 and not is_conflict:
            self._note(method, path, answer)
        return False

    def _send(self, method: str, path: str, body: Any = None) -> Answer:
        try:
            answer = random.choice(self._machines).send(method, path, body)
        except requests.RequestException as error:
            answer = Answer(503, {}, repr(error).encode())
            self._note(method, path, answer)
        else:
            if answer.status == 503 and not self._may_refuse:
                self._note(method, path, answer)
        return answer

    def _note(self, method: str, path: str, answer: Answer) -> None:
        moment = time.strftime('%H:%M:%S')
        self.wrong_answers.append(f'{moment} {method} {path}: {answer.status} {answer.text}')
