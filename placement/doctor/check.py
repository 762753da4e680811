# SPDX-License-Identifier: Apache-2.0
"""The interface of checks: a function from a deployment to a result of oslo.upgradecheck."""

import contextlib
import dataclasses
import os
import pwd
import subprocess
from collections.abc import Callable, Mapping

from oslo_upgradecheck import upgradecheck
from oslo_upgradecheck.upgradecheck import Code

from placement.conf import ConfigOpts

#: The account that the installation guide creates.
DEFAULT_NAME = 'placement'

_TESTS = {os.R_OK: '-r', os.W_OK: '-w', os.X_OK: '-x'}


class UnknownAccount(Exception):
    """There is no such account, or this process cannot determine its rights."""


def find_account(name: str | None) -> pwd.struct_passwd:
    """Return the account with a name, by default the one that runs the service.

    The default is the account of this process. For root, which does not run the service, it is
    the account named `DEFAULT_NAME`, if that exists.

    :raises UnknownAccount: there is no such account, or only root could determine its rights
    """
    if name is None:
        return _default()
    try:
        account = pwd.getpwnam(name)
    except KeyError:
        raise UnknownAccount(f'there is no user {name}') from None
    if os.geteuid() not in (0, account.pw_uid):
        raise UnknownAccount(f'only root can tell what the user {name} may do')
    return account


def _default() -> pwd.struct_passwd:
    user_id, group_id = os.geteuid(), os.getegid()
    if user_id == 0:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(DEFAULT_NAME)
    try:
        return pwd.getpwuid(user_id)
    except KeyError:
        # The user ids of containers often have no name.
        home = os.environ.get('HOME', '/')
        return pwd.struct_passwd((str(user_id), '', user_id, group_id, '', home, ''))


@dataclasses.dataclass(frozen=True)
class Deployment:
    """The service installed and configured on this machine."""

    conf: ConfigOpts
    account: pwd.struct_passwd
    environ: Mapping[str, str]

    def may(self, mode: int, path: str) -> bool:
        """Check that the account may read (`os.R_OK`) a path, write (`os.W_OK`) or enter it."""
        account = self.account
        if account.pw_uid == os.geteuid():
            return os.access(path, mode)
        # Ask the kernel: file modes ignore access control lists and read-only file systems.
        done = subprocess.run(
            ['test', _TESTS[mode], path],
            user=account.pw_uid,
            group=account.pw_gid,
            extra_groups=os.getgrouplist(account.pw_name, account.pw_gid),
            check=False,
        )
        return done.returncode == 0


class CheckResult(upgradecheck.Result):
    """A finding in one line, and a remedy for a warning or a failure."""

    def __init__(self, code: Code, finding: str, remedy: str | None = None) -> None:
        super().__init__(code, None if remedy is None else f'{finding} {remedy}')
        self.finding = finding
        self.remedy = remedy


def ok(finding: str = '') -> CheckResult:
    """A result that needs no action."""
    return CheckResult(Code.SUCCESS, finding)


def warning(finding: str, remedy: str) -> CheckResult:
    """A result about a deployment that works, but not as well as it could."""
    return CheckResult(Code.WARNING, finding, remedy)


def failure(finding: str, remedy: str) -> CheckResult:
    """A result about a deployment that does not work, or refuses some requests."""
    return CheckResult(Code.FAILURE, finding, remedy)


#: Returns a result, or None for a deployment to which the check does not apply.
Check = Callable[[Deployment], CheckResult | None]
