# SPDX-License-Identifier: Apache-2.0
"""Deployments to examine: a configuration file, and the account of these tests."""

import contextlib
import os
import pathlib
import pwd
import shutil
import tempfile
from collections.abc import Callable, Iterator

import pytest

from placement import conf as placement_conf
from placement.conf import ConfigOpts
from placement.doctor import check, identity
from placement.doctor.check import CheckResult, Code, Deployment
from placement.tests.conftest import SETTINGS

Configure = Callable[..., Deployment]


@pytest.fixture
def directory() -> Iterator[pathlib.Path]:
    """A directory that everybody may enter, unlike those of pytest."""
    path = pathlib.Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def configure(directory: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Configure:
    """A function that makes a deployment of the text of a configuration file."""
    monkeypatch.setenv('HOME', str(directory))
    for name in SETTINGS:
        monkeypatch.delenv(name)

    def make(text: str = '', **environ: str) -> Deployment:
        file = directory / 'placement.conf'
        file.write_text(text)
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        conf = ConfigOpts()
        placement_conf.register_opts(conf)
        # As the command does: it is what a check tells.
        with contextlib.suppress(placement_conf.RequiredOptError):
            conf(['--config-file', str(file)], project=placement_conf.PROJECT)
        identity.register_options(conf)
        return Deployment(conf, check.find_account(None), os.environ)

    return make


@pytest.fixture
def stranger() -> pwd.struct_passwd:
    """An account that is not root: root may do everything."""
    return check.find_account('nobody' if os.geteuid() == 0 else None)


def expect(result: CheckResult | None, code: Code, *words: str) -> None:
    """Compare a result with its code, and with parts of what it says and of its remedy."""
    assert result is not None
    text = f'{result.finding} {result.remedy or ""}'
    assert result.code is code, text
    assert [part for part in words if part not in text] == [], text
