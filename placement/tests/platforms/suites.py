# SPDX-License-Identifier: Apache-2.0
"""Suites of Debian, each laid into a directory, in which programs run beside those of the machine.

They see the processes, the network and the devices of the machine, and its directory for temporary
files. Only root can lay one and run programs in it.
"""

import fcntl
import functools
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence

from placement.tests.servers import machine

#: Where suites are kept; outside of any repository.
VARIABLE = 'PLACEMENT_TEST_PLATFORMS'

#: How apt tells where the packages of the machine come from.
ORIGINS = ['apt-get', 'indextargets', '--format', '$(REPO_URI) $(ORIGIN) $(LABEL)']

#: Written before any package is configured: no server starts, and nobody reads its pages here.
FILES = {
    'usr/sbin/policy-rc.d': '#!/bin/sh\nexit 101\n',
    'etc/dpkg/dpkg.cfg.d/platforms': machine.DPKG,
    # The archive of the machine may be of an earlier day; a record names the versions that ran.
    'etc/apt/apt.conf.d/platforms': 'Acquire::Check-Valid-Until "false";\n',
}

#: Mounts the first arguments, up to `--`, at their own places below the root; runs the rest there.
ENTER = """
root=$1 user=$2
shift 2
mount --rbind /dev "$root/dev" && mount -t proc proc "$root/proc" || exit
while [ "$1" != -- ]; do
    if [ -d "$1" ]; then mkdir -p "$root$1"
    else mkdir -p "$(dirname "$root$1")" && touch "$root$1"
    fi
    mount --rbind "$1" "$root$1" || exit
    shift
done
shift
exec chroot --userspec="$user" "$root" "$@"
"""

ROOT, NOBODY = 'root:root', 'nobody:nogroup'


class Suite:
    """A suite of Debian with some packages, as a directory."""

    def __init__(self, name: str, packages: Sequence[str]) -> None:
        self.name = name
        self._packages = packages
        recipe = '\0'.join((name, *packages, *FILES.values()))
        digest = hashlib.sha256(recipe.encode()).hexdigest()[:12]
        self.root = cache() / f'{name}-{digest}'

    def lay(self) -> None:
        """Have the directory; it is made where it is not there, in two minutes."""
        self.root.parent.mkdir(parents=True, exist_ok=True)
        with self.root.with_suffix('.lock').open('w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            ready = self.root / 'ready'
            if ready.exists():
                return
            print(f'==> laying {self.name} of Debian into {self.root}', flush=True)
            shutil.rmtree(self.root, ignore_errors=True)
            command = ['debootstrap', '--variant=minbase', self.name, str(self.root), mirror()]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            for name, text in FILES.items():
                (self.root / name).write_text(text)
                (self.root / name).chmod(0o755)
            self.run(['apt-get', 'update', '-q'])
            install = ['apt-get', 'install', '-q', '-y', '--no-install-recommends']
            self.run([*install, *self._packages])
            ready.touch()

    def program(self, name: str) -> str:
        """The path that a program has in the suite."""
        places = ('usr/sbin', 'usr/bin', 'usr/lib/postgresql/*/bin')
        found = [path for place in places for path in self.root.glob(f'{place}/{name}')]
        assert found, f'{self.name} has no {name}'
        return f'/{found[0].relative_to(self.root)}'

    def run(self, command: Sequence[str], directory: str = '/', shared: Sequence[str] = ()) -> str:
        """Run a command of root that sees these paths of the machine; what it prints.

        :raises AssertionError: with all that it printed, if its exit status is not 0
        """
        done = subprocess.run(
            self.command(['env', f'--chdir={directory}', *command], shared=shared),
            env=environ(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f'{command}: {done.stdout[-8000:]}'
        return done.stdout

    def command(
        self, command: Sequence[str], user: str = ROOT, shared: Sequence[str] = ()
    ) -> list[str]:
        """The command of the machine that runs one in the suite, as the same process."""
        return [
            'unshare', '--mount', 'bash', '-c', ENTER, 'enter', str(self.root), user,
            tempfile.gettempdir(), '/etc/resolv.conf', *shared, '--', *command,
        ]  # fmt: skip


def cache() -> pathlib.Path:
    """The directory of all suites."""
    home = os.environ.get('XDG_CACHE_HOME') or pathlib.Path.home() / '.cache'
    return pathlib.Path(os.environ.get(VARIABLE) or pathlib.Path(home, 'placement-platforms'))


def mirror() -> str:
    """The archive of Debian that the apt of this machine takes its packages from."""
    found = archive(subprocess.check_output(ORIGINS, text=True).splitlines())
    if found is None:
        # A machine has to have asked once before it knows whose they are.
        subprocess.run(['apt-get', 'update', '-q'], check=True, stdout=subprocess.DEVNULL)
        found = archive(subprocess.check_output(ORIGINS, text=True).splitlines())
    assert found, 'no source of apt is an archive of Debian: see "apt-get indextargets"'
    return found


def archive(origins: Iterable[str]) -> str | None:
    """The first URI whose packages are of Debian itself, among lines of `ORIGINS`."""
    for line in origins:
        uri, _, origin = line.partition(' ')
        if origin == 'Debian Debian':
            return uri
    return None


def environ() -> dict[str, str]:
    """The variables of every program in a suite: how to reach packages, and nothing of a user."""
    settings, _ = machine.pip_settings()
    kept = ('http_proxy', 'https_proxy', 'no_proxy')
    return {
        **{name: value for name, value in os.environ.items() if name.lower() in kept},
        **settings,
        'PATH': '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        'HOME': '/root',
        'LANG': 'C.UTF-8',
        'DEBIAN_FRONTEND': 'noninteractive',
        'TMPDIR': tempfile.gettempdir(),
    }


@functools.cache
def files_of_pip() -> Sequence[str]:
    """What pip reads on this machine. While a suite is laid, packages have such files replaced."""
    _, files = machine.pip_settings()
    return [*map(str, files)]
