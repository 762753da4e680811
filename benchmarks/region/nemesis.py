# SPDX-License-Identifier: Apache-2.0
"""The faults of a region, each of which begins, lasts, and is mended."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from benchmarks.region.databases import LASTING
from benchmarks.region.record import Record
from benchmarks.region.services import Region

# Seconds that follow a fault.
AFTERWARDS = 8
SHARE_OF_COMMITS = 0.2


class Fault(NamedTuple):
    """A fault that was there, in seconds since the record began."""

    name: str
    begun: float
    ended: float


@contextlib.contextmanager
def _stopped(process: int) -> Iterator[None]:
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)


class Nemesis:
    """Does faults to the services of a region, one after another, chosen by a seed."""

    def __init__(self, region: Region, record: Record, seed: int, only: str = '') -> None:
        self._region = region
        self._record = record
        self._random = random.Random(seed)
        self._only = only
        self.faults = list[Fault]()

    @property
    def _every(self) -> dict[str, Callable[[], None]]:
        return {
            'a worker is killed': self._kill_worker,
            'a worker is frozen': self._freeze_worker,
            'an API instance is killed': self._kill_instance,
            'all API instances are restarted in turn': self._restart_instances,
            'an API instance is reloaded': self._reload_instance,
            'replies to COMMIT are lost': self._lose_commits,
            'the network to the database is silent': self._silence,
            'Keystone is away': self._stop_keystone,
            'Keystone is frozen': self._freeze_keystone,
            **self._region.cluster.faults(self._random),
        }

    def work(self, seconds: float) -> None:
        """Do all faults once, in a random order, and again until the time is over.

        All are those in whose name the expression `only` is found.
        """
        chosen = [(name, do) for name, do in self._every.items() if re.search(self._only, name)]
        end = self._record.now + seconds
        while not self.faults or self._record.now < end:
            for name, do in self._random.sample(chosen, len(chosen)):
                begun = self._record.now
                do()
                self.faults.append(Fault(name, begun, self._record.now))
                print(f'{self._record.now:7.1f} s  {name}', flush=True)
                time.sleep(AFTERWARDS)

    def _kill_worker(self) -> None:
        controller = self._random.choice(self._region.controllers)
        os.kill(self._random.choice(controller.workers), signal.SIGKILL)

    def _freeze_worker(self) -> None:
        controller = self._random.choice(self._region.controllers)
        with _stopped(self._random.choice(controller.workers)):
            time.sleep(LASTING)

    def _kill_instance(self) -> None:
        controller = self._random.choice(self._region.controllers)
        controller.kill()
        time.sleep(LASTING)
        controller.restart()

    def _restart_instances(self) -> None:
        for controller in self._region.controllers:
            controller.stop()
            controller.restart()

    def _reload_instance(self) -> None:
        self._random.choice(self._region.controllers).reload()

    def _lose_commits(self) -> None:
        for controller in self._region.controllers:
            controller.proxy.share = SHARE_OF_COMMITS
        time.sleep(LASTING)
        for controller in self._region.controllers:
            controller.proxy.share = 0

    def _silence(self) -> None:
        proxy = self._random.choice(self._region.controllers).proxy
        proxy.freeze()
        time.sleep(LASTING)
        proxy.thaw()

    def _stop_keystone(self) -> None:
        new = self._region.tokens.another()
        self._region.keystone.stop()
        self._region.tokens.new = new
        time.sleep(LASTING)
        self._region.keystone.start()

    def _freeze_keystone(self) -> None:
        new = self._region.tokens.another()
        with _stopped(self._region.keystone.pid):
            self._region.tokens.new = new
            time.sleep(LASTING)


def versions(region: Region) -> list[str]:
    """The versions of what runs."""
    haproxy = subprocess.run(['haproxy', '-v'], capture_output=True, text=True, check=True)
    return [
        region.cluster.version,
        haproxy.stdout.splitlines()[0].partition(' - ')[0],
        f'Prometheus {region.prometheus.ask("status/buildinfo")["version"]}',
    ]
