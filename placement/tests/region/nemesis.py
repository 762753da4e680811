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
from concurrent.futures import ThreadPoolExecutor

from placement.tests.region.checker import MARGIN
from placement.tests.region.databases import FULL, LASTING, Faults
from placement.tests.region.history import Fault
from placement.tests.region.record import Record
from placement.tests.region.services import Region

# Seconds that follow a fault.
AFTERWARDS = 8
# Seconds before the first fault, and after each round, in which none is felt.
CALM = 12
SHARE_OF_COMMITS = 0.2
# Seconds that each part of a request to the database, or of an answer, needs.
LATENCIES = (0.025, 0.15)
# Seconds between two breaks of all connections of an instance to the database.
BREAK_EVERY = 0.5
# How far the clock of an instance is wrong.
WRONG = ('+2h', '-2h')
# The share of faults of a database that are not the only one at their time.
OVERLAPPING = 0.5


@contextlib.contextmanager
def _stopped(process: int) -> Iterator[None]:
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)


class Nemesis:
    """Does faults to the services of a region, chosen by a seed, one or two at a time."""

    def __init__(self, region: Region, record: Record, seed: int, only: str = '') -> None:
        self._region = region
        self._record = record
        self._random = random.Random(seed)
        self._only = only
        self.faults = list[Fault]()

    @property
    def _of_services(self) -> Faults:
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
            'the load balancer is killed': self._kill_balancer,
            'the network to the database is slow': self._delay,
            'connections to the database break': self._cut,
            'the clock of an API instance is wrong': self._set_clock,
        }

    def work(self, seconds: float) -> None:
        """Do all faults once, in a random order, and again until the time is over.

        All are those in whose name the expression `only` is found; without one, all but that of
        a disk, which has runs of its own.
        """
        end = self._record.now + seconds
        time.sleep(CALM)
        while not self.faults or self._record.now < end:
            for faults in self.round():
                self._do(faults)
                time.sleep(AFTERWARDS)
            time.sleep(MARGIN - AFTERWARDS + CALM)

    def round(self) -> list[Faults]:
        """Each fault once; one of the database may have one of a service beside it."""
        services, databases = (
            self._random.sample(chosen, len(chosen))
            for chosen in map(self._chosen, (self._of_services, self._of_database))
        )
        together = list[Faults]()
        for fault in databases:
            overlaps = services and self._random.random() < OVERLAPPING
            together.append(dict([fault, services.pop()] if overlaps else [fault]))
        together += [dict([fault]) for fault in services]
        return self._random.sample(together, len(together))

    @property
    def _of_database(self) -> Faults:
        return self._region.cluster.faults(self._random)

    def _chosen(self, faults: Faults) -> list[tuple[str, Callable[[], None]]]:
        wanted = self._only or f'^(?!{FULL})'
        return [(name, do) for name, do in faults.items() if re.search(wanted, name)]

    def _do(self, faults: Faults) -> None:
        name, begun = ', and '.join(faults), self._record.now
        with ThreadPoolExecutor() as pool:
            for done in [pool.submit(do) for do in faults.values()]:
                done.result()
        self.faults.append(Fault(name, begun, self._record.now))
        print(f'{self._record.now:7.1f} s  {name}', flush=True)

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

    def _delay(self) -> None:
        latency = self._random.uniform(*LATENCIES)
        for controller in self._region.controllers:
            controller.proxy.latency = latency
        time.sleep(LASTING)
        for controller in self._region.controllers:
            controller.proxy.latency = 0

    def _cut(self) -> None:
        end = self._record.now + LASTING
        while self._record.now < end:
            self._random.choice(self._region.controllers).proxy.cut()
            time.sleep(BREAK_EVERY)

    def _kill_balancer(self) -> None:
        os.kill(self._region.balancer.pid, signal.SIGKILL)
        self._region.balancer.stop()
        time.sleep(LASTING)
        self._region.balancer.start()

    def _set_clock(self) -> None:
        controller = self._random.choice(self._region.controllers)
        for clock in (self._random.choice(WRONG), ''):
            controller.stop()
            controller.clock = clock
            controller.restart()

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
