# SPDX-License-Identifier: Apache-2.0
"""A machine with Debian of its own, booted by systemd in name spaces, to try the pages on.

Its file system is an overlay on an image that debootstrap made once, so that each machine begins
as the installer of Debian leaves one. It has a network of its own, in which it reaches the
package mirrors, and this host as ``10.0.2.2``.
"""

from __future__ import annotations

import ast
import contextlib
import fcntl
import hashlib
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Self
from urllib import parse as urlparse

from placement.tests.servers import installation

TOOLS = ('debootstrap', 'systemd-container', 'slirp4netns', 'iproute2')

MIRROR = os.environ.get('PLACEMENT_TEST_DEBIAN_MIRROR', 'http://deb.debian.org/debian')
SUITE = 'bookworm'

# Beside the essential packages, what is on every machine that Debian's installer made.
PACKAGES = (
    'adduser', 'ca-certificates', 'cron', 'dbus', 'iproute2', 'libpam-systemd', 'logrotate',
    'openssl', 'procps', 'python3', 'systemd-sysv',
)  # fmt: skip

# The names of the pages, all of which lead to this one machine.
HOSTS = '127.0.0.1 localhost controller db.example.org\n'

# What slirp4netns has at these addresses: a resolver, and the loopback interface of this host.
RESOLVER = '10.0.2.3'
THIS_HOST = '10.0.2.2'

# For tests: a machine that is thrown away need not survive the loss of power, nor be read about.
DPKG = 'force-unsafe-io\npath-exclude=/usr/share/doc/*\npath-exclude=/usr/share/man/*\n'

BOOT = """
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root" || exit
directory=$2
shift 2
exec systemd-nspawn --quiet --register=no --keep-unit --private-network --console=pipe \
    --hostname=controller --directory="$directory/root" "$@" --boot
"""

# A command of a page goes on where the last one of the same user stopped.
SESSION = """
cd
[ -f ~/.session ] && . ~/.session
eval "$1"
status=$?
{ export -p; printf 'cd %q\\n' "$PWD"; } > ~/.session
exit $status
"""

# Longer than any command takes.
TIMEOUT = 300


class CommandFailed(AssertionError):
    """A command had an exit status other than 0; with its output and the journal."""


class Machine:
    """A machine; a context manager starts and stops it.

    ``below`` are the layers of its file system, topmost first; ``directory`` gets what it writes.
    """

    def __init__(
        self,
        directory: pathlib.Path,
        below: Sequence[pathlib.Path],
        binds: Mapping[pathlib.Path, str] | None = None,
    ) -> None:
        self.directory = directory
        self.below = list(below)
        self.binds = dict(binds or {})
        self.environ = {
            'PATH': '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
            'LANG': 'C.UTF-8',
            'DEBIAN_FRONTEND': 'noninteractive',
        }
        self._processes: list[subprocess.Popen[bytes]] = []
        self._leader = 0
        self._lock: IO[str] | None = None

    @property
    def upper(self) -> pathlib.Path:
        """The files written since the machine was made: a layer for other machines."""
        return self.directory / 'upper'

    def start(self) -> None:
        """Boot it, and return when systemd has started everything."""
        # The caches of apt and pip are for one machine at a time.
        self._lock = (installation.cache() / 'machine.lock').open('w')
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        for name in ('upper', 'work', 'root'):
            (self.directory / name).mkdir(exist_ok=True)
        with (self.directory / 'boot.log').open('ab') as log:
            boot = subprocess.Popen(
                ['unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc',
                 'bash', '-c', BOOT, 'boot', ':'.join(map(str, self.below)), str(self.directory),
                 *self._bind_options()],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
            self._processes = [boot]
            self._leader = self._wait_for_systemd(boot)
            network = ['slirp4netns', '--configure', '--mtu=65520', str(self._leader), 'tap0']
            self._processes.append(subprocess.Popen(network, stdout=log, stderr=log))
        self.write('/etc/resolv.conf', f'nameserver {RESOLVER}\n')
        self.write('/etc/hosts', HOSTS)
        self._wait_until_booted()

    def stop(self) -> None:
        """End all of its processes at once; what it wrote stays."""
        for process in reversed(self._processes):
            process.kill()
            process.wait()
        self._processes = []
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def run(self, command: str, user: str = 'root') -> str:
        """Run a command as a user would in a terminal; what it prints.

        :raises CommandFailed: with all that it printed
        """
        done = self._enter(['bash', '-c', SESSION, 'bash', command], user)
        if done.returncode:
            journal = self._enter(['journalctl', '--no-pager', '--lines=40'], 'root').stdout
            raise CommandFailed(
                f'{user}: {command}\nexit status {done.returncode}\n{done.stdout[-6000:]}\n'
                f'The journal ends with:\n{journal}'
            )
        return done.stdout

    def status(self, command: str) -> int:
        """The exit status of a command of root."""
        return self._enter(['bash', '-c', command], 'root').returncode

    def popen(self, command: list[str]) -> subprocess.Popen[str]:
        """Start a command of root, with pipes to its input and from its output."""
        return subprocess.Popen(
            self._command(command, 'root'),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def write(self, path: str, text: str, append: bool = False) -> None:
        """Write to a file; one that exists keeps its owner and its mode."""
        redirection = '>>' if append else '>'
        command = ['bash', '-c', f'cat {redirection} {shlex.quote(path)}']
        done = self._enter(command, 'root', text)
        assert done.returncode == 0, done.stdout

    def copy(self, source: pathlib.Path, directory: str) -> None:
        """Copy a file of this host into a directory of the machine."""
        target = shlex.quote(f'{directory}/{source.name}')
        with source.open('rb') as content:
            self.feed(['bash', '-c', f'cat > {target}'], content)

    def feed(self, command: list[str], content: IO[bytes]) -> None:
        """Run a command of root that reads this."""
        subprocess.run(self._command(command, 'root'), stdin=content, check=True, timeout=TIMEOUT)

    def _enter(
        self, command: list[str], user: str, text: str = ''
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._command(command, user),
            input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=TIMEOUT,
        )  # fmt: skip

    def _command(self, command: list[str], user: str) -> list[str]:
        """A command of this host that runs one in the name spaces of the machine."""
        become = [] if user == 'root' else ['runuser', '-u', user, '--']
        home = 'HOME=/root' if user == 'root' else f'HOME=/home/{user}'
        environ = [f'{name}={value}' for name, value in self.environ.items()]
        return [
            'nsenter', f'--target={self._leader}', '--mount', '--uts', '--ipc', '--net', '--pid',
            '--cgroup', '--root', '--wd', 'env', '-i', *environ, home, *become, *command,
        ]  # fmt: skip

    def _bind_options(self) -> Iterator[str]:
        for source, target in self.binds.items():
            yield f'--bind={source}:{target}'
        environ, files = pip_settings()
        self.environ |= environ
        for path in files:
            yield f'--bind-ro={path}'
        for name, target in (('apt', '/var/cache/apt/archives'), ('pip', '/var/cache/pip')):
            path = installation.cache() / f'machine-{name}'
            (path / 'partial').mkdir(parents=True, exist_ok=True)
            yield f'--bind={path}:{target}'

    def _wait_for_systemd(self, boot: subprocess.Popen[bytes]) -> int:
        """The process id that its systemd has on this host."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            for child in _children(boot.pid):
                for leader in _children(child):
                    name = pathlib.Path(f'/proc/{leader}/comm')
                    with contextlib.suppress(OSError):
                        if name.read_text() == 'systemd\n':
                            return leader
            log = (self.directory / 'boot.log').read_text(errors='replace')
            assert boot.poll() is None, log
            assert time.monotonic() < deadline, log
            time.sleep(0.05)

    def _wait_until_booted(self) -> None:
        deadline = time.monotonic() + TIMEOUT
        command = ['systemctl', 'is-system-running', '--wait']
        while True:
            state = self._enter(command, 'root').stdout.strip()
            if state in ('running', 'degraded'):
                return
            assert time.monotonic() < deadline, state
            time.sleep(0.2)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self.stop()


def _children(process: int) -> list[int]:
    try:
        return [
            int(child)
            for thread in pathlib.Path(f'/proc/{process}/task').iterdir()
            for child in (thread / 'children').read_text().split()
        ]
    except OSError:
        return []


def image() -> pathlib.Path:
    """The file system that every machine begins with; made once, which takes a minute."""
    installation.install_system_packages(*TOOLS)
    recipe = '\0'.join((MIRROR, SUITE, DPKG, *PACKAGES))
    path = installation.cache() / f'image-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}'
    with (installation.cache() / 'machine.lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            unfinished = path.with_suffix('.new')
            shutil.rmtree(unfinished, ignore_errors=True)
            subprocess.run(
                ['debootstrap', '--variant=minbase', f'--include={",".join(PACKAGES)}',
                 SUITE, str(unfinished), MIRROR],
                check=True, stdout=subprocess.DEVNULL,
            )  # fmt: skip
            (unfinished / 'etc/dpkg/dpkg.cfg.d/test').write_text(DPKG)
            unfinished.rename(path)
    return path


def pip_settings() -> tuple[dict[str, str], list[pathlib.Path]]:
    """How pip is configured on this host, as environment variables, and the files they name."""
    listing = subprocess.run(
        [sys.executable, '-m', 'pip', 'config', 'list'], check=True, capture_output=True, text=True
    ).stdout
    # Those of the environment are listed first, and win.
    settings: dict[str, str] = {}
    for line in listing.splitlines():
        key, _, value = line.partition('=')
        name = 'PIP_' + key.rpartition('.')[2].upper().replace('-', '_')
        settings.setdefault(name, ast.literal_eval(value))
    # That of the tests is not the reader's.
    settings.pop('PIP_CONSTRAINT', None)
    settings.pop('PIP_CACHE_DIR', None)
    paths = [
        # An index has its files beside it.
        pathlib.Path(url.path).parent if url.scheme == 'file' else pathlib.Path(url.path)
        for word in ' '.join(settings.values()).split()
        if (url := urlparse.urlsplit(word)).scheme in ('', 'file') and url.path.startswith('/')
    ]
    settings['PIP_CACHE_DIR'] = '/var/cache/pip'
    return settings, [path for path in dict.fromkeys(paths) if path.exists()]
