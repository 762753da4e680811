# SPDX-License-Identifier: Apache-2.0
"""The document of the API is printed where there is neither a configuration nor a database."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from placement import history
from placement.cmd import manage
from placement.openapi import document


def run(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, '-m', 'placement.cmd.manage', 'openapi', *words],
        capture_output=True,
        check=False,
        cwd=directory,
        env={
            'HOME': str(directory),
            'PATH': os.environ['PATH'],
            'PYTHONPATH': str(Path(manage.__file__).parents[2]),
        },
        text=True,
    )


def test_the_newest_version_is_printed_unless_another_one_is_named(tmp_path: Path) -> None:
    done = run(tmp_path)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(
        json.dumps(document.document(document.version_named(history.NEWEST)))
    )


def test_the_version_that_is_named_is_printed(tmp_path: Path) -> None:
    done = run(tmp_path, '--microversion', '1.10')

    assert json.loads(done.stdout)['info']['version'] == '1.10'


@pytest.mark.parametrize('version', ['1.99', 'newest'])
def test_a_version_that_is_not_known_is_refused(tmp_path: Path, version: str) -> None:
    done = run(tmp_path, '--microversion', version)

    assert (done.returncode, done.stdout) == (1, '')
    assert version in done.stderr
