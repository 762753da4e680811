# SPDX-License-Identifier: Apache-2.0
"""Malformed requests to each server: no answer of 5xx, no hang, nothing odd in the log.

``PLACEMENT_TEST_FUZZ_SECONDS`` is divided among the servers. A run is repeated with its
``PLACEMENT_TEST_FUZZ_SEED``, which it prints.
"""

import collections
import os
import pathlib
import random
import re
import select
import socket
import time

import pytest
import requests

from placement.tests.servers import installation, servers
from placement.tests.servers.raw_requests import MARK, Generator
from placement.tests.waiting import TIMEOUT

# None behind nginx, which would keep most malformed requests from them.
NAMES = ('apache', 'uwsgi', 'gunicorn')

SECONDS = float(os.environ.get('PLACEMENT_TEST_FUZZ_SECONDS', '60')) / len(NAMES)
SEED = int(os.environ.get('PLACEMENT_TEST_FUZZ_SEED', str(random.SystemRandom().getrandbits(32))))

# A client that has sent everything it will is answered, or its connection ends, in this time.
END_SECONDS = 30
QUIET_SECONDS = 0.02

# What these say of the protocol is up to the server: a method or an encoding, and a version, that
# it does not know.
PROTOCOL_STATUSES = (501, 505)

# In every answer of the service. Those of 500 without it are of mod_wsgi, for clients that end
# before the body which they announced.
OF_THE_SERVICE = b'x-openstack-request-id'

STATUS = re.compile(rb'HTTP/1\.[01] (\d{3})')
# Ends of lines besides the usual one, and what moves the cursor of a terminal.
CONTROL = re.compile(r'[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]')
FAILURE = re.compile(r'Traceback \(most recent call last\)|\d (?:ERROR|CRITICAL) ')


@pytest.mark.parametrize('name', NAMES)
def test_malformed_requests_do_no_harm(name: str) -> None:
    print(f'{name}: PLACEMENT_TEST_FUZZ_SEED={SEED}')
    with installation.directory() as directory, servers.made(name, directory) as server:
        statuses = fuzz(server.port, Generator(SEED), SECONDS)
        print(name, dict(statuses), sep=': ')
        assert requests.get(f'{server.url}/healthcheck', timeout=END_SECONDS).status_code == 200
        failures = {status for status in statuses if status >= 500}.difference(PROTOCOL_STATUSES)
        assert not failures, f'seed {SEED}'
        assert statuses[200] > 0
        assert statuses[400] > 0
        check_log(server.log)


def fuzz(port: int, generator: Generator, seconds: float) -> collections.Counter[int]:
    """Send messages for some time; the number of answers that began with each status.

    Longer, up to `TIMEOUT`, until there are a 200 and a 400, which a slow machine reaches later.
    A connection that was closed without an answer counts as 0.
    """
    statuses: collections.Counter[int] = collections.Counter()
    begun = time.monotonic()
    while time.monotonic() < begun + (seconds if statuses[200] and statuses[400] else TIMEOUT):
        message = generator.message()
        answer = exchange(port, generator.pieces(message), message)
        found = STATUS.match(answer)
        status = int(found[1]) if found else 0
        if status == 500 and b'mod_wsgi' in answer and OF_THE_SERVICE not in answer.lower():
            continue
        assert status < 500 or status in PROTOCOL_STATUSES, (message, answer)
        statuses[status] += 1
    return statuses


def exchange(port: int, pieces: list[bytes], message: bytes) -> bytes:
    """The answer to a message; its sender then sends nothing more."""
    answer = b''
    with socket.create_connection(('127.0.0.1', port), timeout=END_SECONDS) as client:
        try:
            for piece in pieces:
                client.sendall(piece)
            # As long as the other side can, it answers; then it learns that this was all.
            while select.select([client], [], [], QUIET_SECONDS)[0]:
                received = client.recv(65536)
                if not received:
                    return answer
                answer += received
            client.shutdown(socket.SHUT_WR)
            while received := client.recv(65536):
                answer += received
        except TimeoutError:
            pytest.fail(f'the server hangs: {message!r}')
        except ConnectionError:
            pass
        return answer


def check_log(path: pathlib.Path) -> None:
    """No exception, no error, and no line that a client has written."""
    text = path.read_bytes().decode('utf-8', 'surrogateescape')
    lines = text.split('\n')
    assert [line for line in lines if line.startswith(MARK)] == []
    assert [line for line in lines if CONTROL.search(line)] == []
    assert [line for line in lines if FAILURE.search(line)] == []
