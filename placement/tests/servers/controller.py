# SPDX-License-Identifier: Apache-2.0
"""The machine of the page about installing: what a reader has before the first step."""

from __future__ import annotations

import contextlib
import json
import pathlib
import time
from collections.abc import Iterator, Sequence

from placement.tests.servers import installation, keystone, machine, pages

#: A client in the machine: several threads that ask until standard input ends; prints a status, or
#: what failed, by the name that each asked for.
LOAD = """
import http.client, itertools, json, sys, threading
name, token = sys.argv[1:]
numbers, answers, stopped = itertools.count(), {}, threading.Event()

def ask():
    while not stopped.is_set():
        asked = f'{name}-{next(numbers)}'
        connection = http.client.HTTPConnection('controller', 8778, timeout=200)
        try:
            path, headers = f'/resource_providers?name={asked}', {'X-Auth-Token': token}
            connection.request('GET', path, headers=headers)
            answers[asked] = connection.getresponse().status
        except Exception as error:
            answers[asked] = repr(error)
        connection.close()
        stopped.wait(0.02)

threads = [threading.Thread(target=ask) for _ in range(4)]
for thread in threads:
    thread.start()
sys.stdin.read()
stopped.set()
for thread in threads:
    thread.join()
json.dump(answers, sys.stdout)
"""


class Load:
    """The answers to the clients of a load, once it has ended."""

    answers: dict[str, int | str]


OPERATOR = 'administrator'

CREDENTIALS = f"""
export OS_AUTH_URL=http://controller:5000/v3
export OS_IDENTITY_API_VERSION=3
export OS_PROJECT_NAME=admin OS_PROJECT_DOMAIN_NAME=Default
export OS_USERNAME={keystone.ADMIN} OS_USER_DOMAIN_NAME=Default
export OS_PASSWORD='{keystone.PASSWORD % keystone.ADMIN}'
"""


class Controller(machine.Machine):
    """The machine of the page: beside Debian, what 'Before you begin' says is there already."""

    def __init__(
        self,
        directory: pathlib.Path,
        below: Sequence[pathlib.Path],
        cloud: keystone.Keystone,
    ) -> None:
        self.client = installation.environment(
            'openstackclient',
            installation.SYSTEM_PYTHON,
            'python-openstackclient',
            'osc-placement',
        )
        super().__init__(directory, below, {self.client: str(self.client)})
        self.cloud = cloud

    def start(self) -> None:
        """Boot it, with Keystone on port 5000."""
        super().start()
        self.run(
            'systemd-run --quiet --socket-property=ListenStream=5000 '
            f'/lib/systemd/systemd-socket-proxyd {machine.THIS_HOST}:{self.cloud.port}'
        )

    def prepare(self, release: pathlib.Path) -> None:
        """Put the files of a release, the client and the credentials where they are expected."""
        self.run(f'useradd --create-home {OPERATOR}')
        self.run(f'ln -s {self.client}/bin/openstack /usr/local/bin/')
        self.write(f'/home/{OPERATOR}/admin-openrc', CREDENTIALS)
        self.run('mkdir /root/release')
        for path in release.iterdir():
            if path.is_file():
                self.copy(path, '/root/release')

    def follow(self, steps: Sequence[pages.Step]) -> None:
        """Do what the page says, one step after the other.

        :raises machine.CommandFailed: for the first command that fails
        """
        for step in steps:
            if isinstance(step, pages.Addition):
                self.write(step.path, step.text, append=True)
                continue
            began = time.monotonic()
            printed = self.run(step.text, 'root' if step.as_root else OPERATOR)
            # Shown when a test fails.
            prompt = '#' if step.as_root else '$'
            print(f'[{time.monotonic() - began:.1f} s] {prompt} {step.text}\n{printed[-1500:]}')
            assert step.output in printed

    def token(self) -> str:
        """A token of the administrator."""
        return self.run('openstack token issue --format value --column id', OPERATOR).strip()

    def get(self, path: str, token: str = '') -> tuple[int, str]:
        """The status and the body of an answer, in the newest microversion."""
        *body, status = self.run(
            f"curl --silent --globoff --write-out '\\n%{{http_code}}' "
            "--header 'OpenStack-API-Version: placement latest' "
            f"--header 'X-Auth-Token: {token}' 'http://controller:8778{path}'"
        ).splitlines()
        return int(status), '\n'.join(body)

    @contextlib.contextmanager
    def load(self, name: str) -> Iterator[Load]:
        """Clients that ask all the time for a name and a number, each of which is answered."""
        token = self.token()
        load = Load()
        with self.popen(['python3', '-c', LOAD, name, token]) as clients:
            time.sleep(1)
            try:
                yield load
            finally:
                printed, _ = clients.communicate(timeout=machine.TIMEOUT)
        load.answers = json.loads(printed)
        wrong = {asked: answer for asked, answer in load.answers.items() if answer != 200}
        assert load.answers, printed
        assert not wrong, wrong

    def wait(self) -> None:
        """Return when the service answers, which systemd may not know."""
        self.run(
            'curl --silent --fail --output /dev/null --retry 60 --retry-delay 1 '
            '--retry-connrefused http://controller:8778/'
        )
