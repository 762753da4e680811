# SPDX-License-Identifier: Apache-2.0
"""Counting the instructions of a request."""

import textwrap

import pytest

from benchmarks import clouds, instructions
from benchmarks.instructions import FEW, MANY, Forked
from benchmarks.loading import load_as_rows
from placement.tests.unit.benchmarks.conftest import Serve

LOG = """
==70== Cachegrind, a high-precision tracing profiler
==71== I refs:        1,500,000
==72==
==72== I   refs:      2,100,000
==73== I refs:        1,000,000
==74== I refs:        1,030,000
==70== I refs:        9,999,999
"""


def test_requests_are_accepted_once_for_each_number(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {'WARM': 2, 'FEW': 1, 'MANY': 3, 'HOSTS': 20}.items():
        monkeypatch.setattr(instructions, name, value)
    client, url = serve('service')
    client.get('/resource_providers')
    load_as_rows(url, clouds.flat(20))

    requests = instructions.requests(client)
    client.statuses.clear()
    for request in requests.values():
        for number in range(6):
            request(number)

    assert list(requests) == ['read inventories', 'search, found', 'claim', 'release']
    assert client.statuses == {200: 12, 204: 12}
    with pytest.raises(IndexError):
        requests['release'](6)


def test_difference_of_two_processes_is_that_of_their_requests() -> None:
    processes = [
        Forked(71, 'read', FEW), Forked(72, 'read', MANY),
        Forked(73, 'claim', FEW), Forked(74, 'claim', MANY),
    ]  # fmt: skip

    counted = instructions.per_request(LOG, processes)

    assert counted == {'read': 600_000 / (MANY - FEW), 'claim': 30_000 / (MANY - FEW)}


def test_table_has_what_each_choice_adds() -> None:
    measured = {
        'off': {'read': 2_000_000.0, 'claim': 3_000_000.0},
        'history': {'read': 1_990_000.0, 'claim': 3_600_000.0},
    }

    expected = """\
        instructions  off, thousands  history
        read                   2,000    -0.5%
        claim                  3,000   +20.0%
    """
    assert instructions.table(measured).strip() == textwrap.dedent(expected).strip()
