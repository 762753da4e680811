# SPDX-License-Identifier: Apache-2.0
"""The page about installing, done literally, block by block, on a new machine with Debian."""

import configparser
import contextlib
import json
import pathlib
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from placement.tests.servers import installation, keystone, machine, pages
from placement.tests.servers.controller import OPERATOR, Controller
from placement.tests.servers.release import Release, our_version
from placement.tests.waiting import wait_until

PAGES = installation.REPOSITORY / 'doc' / 'source'
SECTIONS = pages.sections(PAGES / 'install.rst')
UPGRADE = pages.sections(PAGES / 'upgrade.rst')
LOOK = pages.sections(PAGES / 'look-at-your-cloud.rst')

BEGIN = ('Before you begin', 'The package', 'Keystone', 'A log file')
APACHE = ('MariaDB and MySQL', 'The tables', 'Apache with mod_wsgi', 'Verify')
UWSGI = ('PostgreSQL', 'The tables', 'uWSGI', 'nginx', 'Verify')
GUNICORN = ('gunicorn', 'Verify')
HAPROXY = ('SQLite', 'The tables', 'uWSGI', 'haproxy', 'Verify')

# Those that are followed in the middle of a test.
LATER = (
    'Below a prefix', 'Exchanging the processes of the service', 'Reloading uWSGI', 'The journal',
    'Taking a machine out of service',
)  # fmt: skip

pytestmark = installation.needs_root

#: nova asks with the names of all traits that there are.
LONG = '/traits?name=in:' + ','.join(f'CUSTOM_{number:0>23}' for number in range(540))

#: The service before an upgrade.
OLD_UNIT = """
[Service]
User=placement
ExecStart=/opt/old/bin/gunicorn --bind 127.0.0.1:8778 placement.wsgi.api:application
"""
OLD_OPTIONS = """
[api]
auth_strategy = keystone
"""

#: Succeeds if lines were logged since the last rotation.
HAS_LINES = 'test -s /var/log/placement/placement.log'

#: Writers of PostgreSQL wait until the backend is ended.
LOCK = """systemd-run --quiet --collect --uid=postgres psql placement --command \
    'BEGIN; LOCK resource_providers IN EXCLUSIVE MODE; SELECT pg_sleep(600)'
"""
PATIENT = """
[placement_database]
lock_timeout = 60
"""
ASK_LOCKS = """env --chdir=/ runuser -u postgres -- \
    psql placement --tuples-only --no-align --command \
    "SELECT {} FROM pg_locks WHERE relation = 'resource_providers'::regclass AND {}"
"""
LOGS = 'journalctl --unit=placement-uwsgi | tail -n 60; tail -n 5 /var/log/nginx/error.log'
IS_LOCK = "granted AND mode = 'ExclusiveLock'"


@pytest.fixture(scope='module')
def cloud() -> Iterator[keystone.Keystone]:
    """Keystone, which knows itself as the page does."""
    with installation.directory() as directory:
        server = keystone.Keystone(directory, known_as='http://controller:5000/v3')
        server.prepare()
        with server:
            keystone.Cloud(server)
            yield server


@pytest.fixture(scope='module')
def release(
    archive: pathlib.Path, wheel: pathlib.Path, tmp_path_factory: pytest.TempPathFactory
) -> pathlib.Path:
    """The files of a release, as far as the page needs them."""
    made = Release(tmp_path_factory.mktemp('release'), archive, wheel)
    assert made.make(our_version()) == ''
    return made.dist


@pytest.fixture(scope='module')
def installed(cloud: keystone.Keystone, release: pathlib.Path) -> Iterator[Sequence[pathlib.Path]]:
    """The layers of a machine on which was done what comes before the choice of a database."""
    with installation.directory() as directory:
        with Controller(directory, [machine.image()], cloud) as new:
            new.prepare(release)
            new.follow(pages.chosen(SECTIONS, BEGIN))
        yield [new.upper, *new.below]


@contextlib.contextmanager
def controller(
    layers: Sequence[pathlib.Path], cloud: keystone.Keystone, sections: Sequence[str]
) -> Iterator[Controller]:
    """A machine on which these sections were followed, beside the ones of the layers."""
    with installation.directory() as directory, Controller(directory, layers, cloud) as new:
        new.follow(pages.chosen(SECTIONS, sections))
        yield new


def following(sections: Sequence[str]) -> Any:
    """A fixture: the machine on which these sections were followed."""

    @pytest.fixture(scope='class')
    def machine(
        installed: Sequence[pathlib.Path], cloud: keystone.Keystone
    ) -> Iterator[Controller]:
        with controller(installed, cloud, sections) as new:
            yield new

    return machine


#: uWSGI with PostgreSQL behind nginx, uWSGI with SQLite behind haproxy, Apache with MariaDB.
behind_nginx, behind_haproxy, with_apache = map(following, (UWSGI, HAPROXY, APACHE))


def test_every_instruction_is_followed() -> None:
    followed = {*BEGIN, *APACHE, *UWSGI, *GUNICORN, *HAPROXY, *LATER}
    assert {title for title, steps in SECTIONS.items() if steps} == followed


def create_provider(machine: Controller, token: str, name: str) -> int:
    """Create a resource provider; the status of the answer."""
    return int(machine.run(create_command(token, name)))


def create_command(token: str, name: str) -> str:
    """The command that creates a resource provider and prints the status of the answer."""
    return (
        "curl --silent --output /dev/null --write-out '%{http_code}' "
        f"--header 'X-Auth-Token: {token}' --header 'Content-Type: application/json' "
        f"""--data '{{"name": "{name}"}}' http://controller:8778/resource_providers"""
    )


def provider_names(machine: Controller, token: str) -> set[str]:
    """The names of all resource providers."""
    _, text = machine.get('/resource_providers', token)
    return {provider['name'] for provider in json.loads(text)['resource_providers']}


def children(machine: Controller, unit: str) -> set[str]:
    """The process ids of what the main process of a unit has started."""
    main = machine.run(f'systemctl show --property MainPID --value {unit}').strip()
    return set(machine.run(f'pgrep --parent {main} || true').split())


def _check_unit(machine: Controller, unit: str) -> None:
    """systemd finds no fault with a unit, and little that it could do to the machine."""
    assert machine.run(f'systemd-analyze verify {unit}.service') == ''
    machine.run(f'systemd-analyze security --no-pager --threshold=20 {unit}.service')
    process = machine.run(f'systemctl show --property MainPID --value {unit}').strip()
    status = machine.run(f'cat /proc/{process}/status')
    assert re.findall(r'(?:NoNewPrivs|CapEff|Seccomp):\t(\w+)', status) == ['0' * 16, '1', '2']
    enter = f'nsenter --target={process} --mount'
    assert machine.status(f'{enter} touch /etc/placement/placement.conf') != 0
    assert machine.status(f'{enter} touch /var/log/placement/placement.log') == 0


def _answers_while_reloaded(
    controller: Controller, command: str, processes: Callable[[], set[str]]
) -> None:
    """No client notices this command, after which all processes are new."""
    before = processes()
    with controller.load('reloaded'):
        controller.run(command)
        # There may be none for a moment.
        wait_until(lambda: (now := processes()) and not before & now, seconds=machine.TIMEOUT)


class TestNginx:
    """PostgreSQL, and uWSGI behind nginx; then gunicorn in its place."""

    def test_uwsgi(self, behind_nginx: Controller) -> None:
        assert behind_nginx.get(LONG, behind_nginx.token())[0] == 200
        _check_unit(behind_nginx, 'placement-uwsgi')

    def test_no_client_notices_that_uwsgi_is_reloaded(self, behind_nginx: Controller) -> None:
        unit = 'placement-uwsgi'
        before = children(behind_nginx, unit)
        with behind_nginx.load('reloaded'):
            behind_nginx.follow(SECTIONS['Reloading uWSGI'])
            wait_until(lambda: not before & children(behind_nginx, unit), seconds=machine.TIMEOUT)
        assert len(before) == 4

    def test_uwsgi_answers_what_it_has_begun_when_it_is_stopped(
        self, behind_nginx: Controller
    ) -> None:
        def ask_locks(what: str, condition: str) -> str:
            return behind_nginx.run(ASK_LOCKS.format(what, condition)).strip()

        def state() -> str:
            return behind_nginx.run('systemctl show --property=ActiveState placement-uwsgi')

        behind_nginx.write('/etc/placement/placement.conf', PATIENT, append=True)
        behind_nginx.run('systemctl restart placement-uwsgi')
        token = behind_nginx.token()
        behind_nginx.run(LOCK)
        wait_until(lambda: ask_locks('pid', IS_LOCK))
        command = create_command(token, 'waits-for-the-lock')
        with behind_nginx.popen(['bash', '-c', command]) as client:
            wait_until(lambda: ask_locks('pid', 'NOT granted'))
            behind_nginx.run('systemctl stop --no-block placement-uwsgi')
            wait_until(lambda: 'deactivating' in state(), state)
            ask_locks('pg_terminate_backend(pid)', IS_LOCK)
            printed, _ = client.communicate(timeout=machine.TIMEOUT)
        wait_until(lambda: 'deactivating' not in state(), state)
        behind_nginx.run('systemctl start placement-uwsgi')
        assert printed == '201', behind_nginx.run(LOGS)

    def test_gunicorn_in_place_of_uwsgi(self, behind_nginx: Controller) -> None:
        behind_nginx.run('systemctl disable --now placement-uwsgi')
        behind_nginx.follow(pages.chosen(SECTIONS, GUNICORN))

        assert behind_nginx.get(LONG, behind_nginx.token())[0] == 200
        unit = 'placement-gunicorn'
        _answers_while_reloaded(
            behind_nginx, f'systemctl reload {unit}', lambda: children(behind_nginx, unit)
        )
        _check_unit(behind_nginx, unit)


class TestHaproxy:
    """SQLite, and uWSGI behind haproxy."""

    def test_unit_is_sandboxed(self, behind_haproxy: Controller) -> None:
        _check_unit(behind_haproxy, 'placement-uwsgi')

    def test_no_line_is_lost_when_the_log_is_rotated(self, behind_haproxy: Controller) -> None:
        with behind_haproxy.load('logged') as load:
            for _ in range(3):
                time.sleep(1)
                # The sample says notifempty: a file without a line stays.
                wait_until(lambda: behind_haproxy.status(HAS_LINES) == 0)
                behind_haproxy.run('logrotate --force /etc/logrotate.d/placement')
        lines = behind_haproxy.run(
            'zgrep --no-filename --only-matching "name=logged-[0-9]*" /var/log/placement/*'
        )
        assert set(lines.split()) >= {f'name={name}' for name in load.answers}
        assert behind_haproxy.run('ls /var/log/placement').split()[-1] == 'placement.log.3.gz'

    def test_no_client_notices_that_processes_are_exchanged(
        self, behind_haproxy: Controller
    ) -> None:
        unit = 'placement-uwsgi'
        _answers_while_reloaded(
            behind_haproxy, f'systemctl reload {unit}', lambda: children(behind_haproxy, unit)
        )

    def test_journal_has_the_request_as_a_field(self, behind_haproxy: Controller) -> None:
        behind_haproxy.follow(SECTIONS['The journal'])
        behind_haproxy.run('systemctl restart placement-uwsgi')
        headers = behind_haproxy.run(
            'curl --silent --head --retry 60 --retry-delay 1 --retry-connrefused '
            'http://127.0.0.1:8779/resource_providers'
        )
        (request_id,) = re.findall(r'(?i)x-openstack-request-id: (\S+)', headers)

        (entry,) = behind_haproxy.run(
            f'journalctl --sync; journalctl --output=json REQUEST_ID={request_id}'
        ).splitlines()

        assert json.loads(entry)['LOGGER_NAME'] == 'placement.requestlog'
        assert json.loads(entry)['SYSLOG_IDENTIFIER'] == 'uwsgi'
        assert '"HEAD /resource_providers" status: 401' in json.loads(entry)['MESSAGE']

    def test_out_of_service(self, behind_haproxy: Controller) -> None:
        behind_haproxy.follow(SECTIONS['Taking a machine out of service'])
        behind_haproxy.run('systemctl restart placement-uwsgi')
        health = "curl --silent --output /dev/null --write-out '%{http_code}' http://127.0.0.1:8779/healthcheck"
        assert behind_haproxy.run(health) == '200'
        behind_haproxy.run('touch /etc/placement/out-of-service')
        assert behind_haproxy.run(health) == '503'


@pytest.fixture(scope='class')
def with_upstream(
    installed: Sequence[pathlib.Path], cloud: keystone.Keystone
) -> Iterator[Controller]:
    """A machine on which upstream serves MariaDB, as the unit placement-old, with a provider."""
    with controller(installed, cloud, ['MariaDB and MySQL']) as machine:
        machine.run(
            'python3 -m venv /opt/old && /opt/old/bin/pip install --quiet '
            'openstack-placement==16.0.0 PyMySQL python-memcached cryptography gunicorn'
        )
        machine.write('/etc/systemd/system/placement-old.service', OLD_UNIT)
        machine.write('/etc/placement/placement.conf', OLD_OPTIONS, append=True)
        machine.run('runuser -u placement -- /opt/old/bin/placement-manage db sync')
        machine.run('systemctl daemon-reload; systemctl start placement-old')
        yield machine


#: What is in the environment of upstream, but for what Python compiles.
CONTENT_OF_OLD = "find /opt/old -type f ! -name '*.pyc' -exec sha256sum {} + | sort | sha256sum"
TABLES = "mysql placement --execute 'SHOW TABLE STATUS' --batch | cut --fields=1,5"


class TestLook:
    """The page about insight beside upstream, which goes on undisturbed."""

    BEFORE_THE_START = ('An environment of its own', 'An account that only reads')

    def test_look_at_the_cloud_of_upstream(
        self, with_upstream: Controller, archive: pathlib.Path
    ) -> None:
        token = with_upstream.token()
        with_upstream.wait()
        assert create_provider(with_upstream, token, 'of-upstream') == 201
        with_upstream.copy(archive, f'/home/{OPERATOR}')
        before = with_upstream.run(f'{CONTENT_OF_OLD}; {TABLES}')

        with_upstream.follow(pages.chosen(LOOK, self.BEFORE_THE_START))
        *named, start = [step for step in LOOK['Look'] if not is_question(step)]
        with_upstream.follow(named)
        assert isinstance(start, pages.Command)
        with_upstream.run(f'{start.text} > look.log 2>&1 & echo $! > look.pid', OPERATOR)
        with_upstream.run(
            'curl --silent --output /dev/null --retry 60 --retry-delay 1 --retry-connrefused '
            'http://127.0.0.1:8780/'
        )
        answers = [
            json.loads(with_upstream.run(step.text, OPERATOR))
            for step in LOOK['Look']
            if isinstance(step, pages.Command) and is_question(step)
        ]
        assert [one.get('verdict') for one in answers] == ['infeasible', None]
        listed = (
            'curl --silent --header "X-Auth-Token: admin" http://127.0.0.1:8780/insight/providers'
        )
        (provider,) = json.loads(with_upstream.run(listed))['providers']
        assert provider['name'] == 'of-upstream'
        with_upstream.run('kill -INT $(cat look.pid)', OPERATOR)

        with_upstream.follow(LOOK['The end'])
        assert with_upstream.run(f'{CONTENT_OF_OLD}; {TABLES}') == before
        assert create_provider(with_upstream, token, 'of-upstream-again') == 201

    def test_every_instruction_is_followed(self) -> None:
        followed = {*self.BEFORE_THE_START, 'Look', 'The end'}
        # The commands of the last section are those of the page about installing.
        assert {title for title, steps in LOOK.items() if steps} == followed


def is_question(step: pages.Step) -> bool:
    """Test whether a step asks something."""
    return isinstance(step, pages.Command) and step.text.startswith('curl ')


class TestUpgrade:
    """The page about upgrades, from upstream and back."""

    def test_upgrade_and_rollback(self, with_upstream: Controller) -> None:
        token = with_upstream.token()
        with_upstream.wait()
        assert create_provider(with_upstream, token, 'of-upstream') == 201

        # What the page about installing says of the new workers.
        requirements = 'etc/placement/requirements-uwsgi.txt'
        with_upstream.run(
            f'/opt/placement/bin/pip install --require-hashes --requirement {requirements}; '
            'sed s/127.0.0.1:8779/127.0.0.1:8778/ etc/placement/placement-uwsgi.ini '
            '> /etc/placement/placement-uwsgi.ini; '
            'cp etc/systemd/placement-uwsgi.service /etc/systemd/system/'
        )
        with_upstream.follow(pages.chosen(UPGRADE, ['Before', 'The change', 'After']))
        assert create_provider(with_upstream, token, 'of-this-service') == 201
        assert provider_names(with_upstream, token) == {'of-upstream', 'of-this-service'}

        with_upstream.follow(UPGRADE['Rollback'])
        with_upstream.wait()
        assert create_provider(with_upstream, token, 'of-upstream-again') == 201
        assert provider_names(with_upstream, token) == {
            'of-upstream', 'of-this-service', 'of-upstream-again'
        }  # fmt: skip

    def test_every_instruction_is_followed(self) -> None:
        # The phase without a pause is tested by `make test-upgrade`.
        followed = {'Before', 'The change', 'After', 'Rollback', 'Machine by machine'}
        assert {title for title, steps in UPGRADE.items() if steps} == followed


# The last one, because it changes the addresses in the catalogue.
class TestApache:
    """MariaDB, and Apache, at the root and below a prefix."""

    def test_log_belongs_to_the_service(self, with_apache: Controller) -> None:
        text = with_apache.run('cat /var/log/placement/placement.log')
        assert with_apache.run('stat --format %U /var/log/placement/*').split() == ['placement']
        assert '"GET /resource_providers" status: 200' in text

    def test_tokens_are_cached_in_memcached(self, with_apache: Controller) -> None:
        token = with_apache.token()
        for _ in range(4):
            assert with_apache.get('/resource_providers', token)[0] == 200
        stored = with_apache.run(
            'exec 3<>/dev/tcp/controller/11211; printf "stats\r\nquit\r\n" >&3; cat <&3'
        )
        assert int(re.findall(r'STAT get_hits (\d+)', stored)[0]) > 0

    def test_no_client_notices_that_its_processes_are_exchanged(
        self, with_apache: Controller
    ) -> None:
        (command,) = SECTIONS['Exchanging the processes of the service']
        assert isinstance(command, pages.Command)
        _answers_while_reloaded(
            with_apache,
            command.text,
            lambda: set(with_apache.run("pgrep --full '[w]sgi:placement' || true").split()),
        )

    def test_service_goes_on_without_memcached(self, with_apache: Controller) -> None:
        token = with_apache.token()
        with_apache.run('systemctl stop memcached')
        assert with_apache.get('/resource_providers', token)[0] == 200
        with_apache.run('systemctl start memcached')

    def test_below_a_prefix(self, with_apache: Controller) -> None:
        with_apache.follow(SECTIONS['Below a prefix'])
        with_apache.follow(SECTIONS['Verify'][-1:])

        status, text = with_apache.get('/placement/')
        assert (status, json.loads(text)['versions'][0]['max_version']) == (200, '1.39')
        assert with_apache.get('/resource_providers', with_apache.token())[0] == 404


def test_pinned_versions_of_all_extras_suit_the_oldest_python(tmp_path: pathlib.Path) -> None:
    options = configparser.ConfigParser()
    options.read(installation.REPOSITORY / 'setup.cfg')
    texts = [options['options']['install_requires'], *options['options.extras_require'].values()]
    lines = (line for text in texts for line in text.splitlines() if line and line[0] != '#')
    # There is no wheel of systemd-python, which has no requirement of its own.
    wanted = {line.replace('[systemd]', '') for line in lines}
    pins = ['--constraint', 'constraints.txt']
    oldest = ['--python-version', '3.11.0', '--only-binary', ':all:', '--target', str(tmp_path)]
    done = subprocess.run(
        [sys.executable, 'tools/pip_install.py', '--dry-run', *oldest, *pins, *wanted],
        cwd=installation.REPOSITORY,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
