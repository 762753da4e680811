# SPDX-License-Identifier: Apache-2.0
"""Completions that bash offers after it has read the command's own script.

Specification: commands, "placement-manage", "placement-status"
"""

import subprocess
import sys

import pytest

from placement.cmd import manage, status

MAINS = {'placement-manage': manage.main, 'placement-status': status.main}


@pytest.mark.parametrize(
    ('typed', 'offered'),
    [
        ('placement-manage db s', {'sync', 'stamp'}),
        ('placement-manage db online_data_migrations --m', {'--max-count'}),
        ('placement-manage --config-f', {'--config-file'}),
        ('placement-status upg', {'upgrade'}),
    ],
)
def test_bash_completes_commands_and_options(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    typed: str,
    offered: set[str],
) -> None:
    command, *words = typed.split()
    monkeypatch.setattr('sys.argv', [command])
    with pytest.raises(SystemExit):
        MAINS[command](['--shell_completion', 'bash'])
    script = (
        f'{capsys.readouterr().out}\nCOMP_WORDS=({typed}) COMP_CWORD={len(words)}\n'
        f'_shtab_{command.replace("-", "_")}; echo "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(['bash', '--norc', '-c', script], check=True, stdout=subprocess.PIPE)

    assert offered <= set(done.stdout.decode().split())


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'shtab', None)
    with pytest.raises(SystemExit, match=r"pip install 'openstack-placement\[completion\]'"):
        manage.main(['--shell_completion', 'bash'])
