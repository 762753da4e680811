# SPDX-License-Identifier: Apache-2.0
"""The document of the API is printed where there is neither a configuration nor a database."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from placement import microversions
from placement.cmd import manage
from placement.cmd.openapi import document
from placement.tests.unit.cmd.conftest import Run


def test_the_newest_version_is_printed_unless_another_one_is_named(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, '-m', 'placement.cmd.manage', 'openapi'],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env={
            'HOME': str(tmp_path),
            'PATH': os.environ['PATH'],
            'PYTHONPATH': str(Path(manage.__file__).parents[2]),
        },
        text=True,
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(
        json.dumps(document.document(document.version_named(microversions.NEWEST)))
    )


def test_the_version_that_is_named_is_printed(run: Run) -> None:
    done = run('openapi', '--microversion', '1.10')

    assert json.loads(done.printed)['info']['version'] == '1.10'


@pytest.mark.parametrize('version', ['1', '1.99', 'newest'])
def test_a_version_that_is_not_known_is_refused(run: Run, version: str) -> None:
    done = run('openapi', '--microversion', version)

    assert (done.status, done.printed) == (1, '')
    assert version in done.complained
