# SPDX-License-Identifier: Apache-2.0
"""The benchmark of several workers."""

import pytest

from benchmarks import workers
from benchmarks.client import Client


def test_clients_are_distributed_over_processes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clients: list[Client] = []

    def make_client(port: int) -> Client:
        clients.append(Client(port))
        return clients[-1]

    monkeypatch.setattr(workers, 'Client', make_client)
    asked = '--sizes 100 --pools 1x1,2x2 --clients 2 --seconds 0.1'
    assert workers.main(asked.split()) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith('database: sqlite, clients: 2')
    assert [line.split()[:3] for line in lines[3:]] == [['100', '1', '1'], ['100', '2', '2']]
    assert all(float(line.split()[3]) > 0 for line in lines[3:])
    alone, shared = clients[:2], clients[2:]
    assert [len({client._port for client in pool}) for pool in (alone, shared)] == [1, 2]
    assert all(client.statuses for client in shared), 'somebody was not asked'


def test_pools_are_parsed_as_processes_and_threads() -> None:
    assert workers._pools('1x4,2x8') == [(1, 4), (2, 8)]
