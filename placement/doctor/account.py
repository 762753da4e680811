# SPDX-License-Identifier: Apache-2.0
"""The account of the operating system that the service runs as, and what it may do with files."""

from __future__ import annotations

import dataclasses
import os
import pwd
import subprocess

#: The account that the installation guide makes.
DEFAULT_NAME = 'placement'

_TESTS = {os.R_OK: '-r', os.W_OK: '-w', os.X_OK: '-x'}


class UnknownAccount(Exception):
    """There is no such account, or this process cannot tell what it may do."""


@dataclasses.dataclass(frozen=True)
class Account:
    """An account; `home` is its home directory."""

    name: str
    user_id: int
    group_id: int
    home: str

    def may(self, mode: int, path: str) -> bool:
        """Whether the account may read (`os.R_OK`) a path, write (`os.W_OK`) or enter it."""
        if self.user_id == os.geteuid():
            return os.access(path, mode)
        # The kernel knows about access control lists and read-only file systems, modes do not.
        done = subprocess.run(
            ['test', _TESTS[mode], path],
            user=self.user_id,
            group=self.group_id,
            extra_groups=os.getgrouplist(self.name, self.group_id),
            check=False,
        )
        return done.returncode == 0


def find(name: str | None) -> Account:
    """The account with a name, by default the one that runs the service as far as is known.

    That is the one that runs this process, except for root, which does not serve: where there is
    an account of the default name, it is that. Raises `UnknownAccount`.
    """
    if name is None:
        return _default()
    try:
        account = _of(pwd.getpwnam(name))
    except KeyError:
        raise UnknownAccount(f'there is no user {name}') from None
    if os.geteuid() not in (0, account.user_id):
        raise UnknownAccount(f'only root can tell what the user {name} may do')
    return account


def _default() -> Account:
    if os.geteuid() == 0:
        try:
            return _of(pwd.getpwnam(DEFAULT_NAME))
        except KeyError:
            pass
    try:
        return _of(pwd.getpwuid(os.geteuid()))
    except KeyError:
        # Containers run under numbers that no file names.
        home = os.environ.get('HOME', '/')
        return Account(str(os.geteuid()), os.geteuid(), os.getegid(), home)


def _of(entry: pwd.struct_passwd) -> Account:
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, entry.pw_dir)
