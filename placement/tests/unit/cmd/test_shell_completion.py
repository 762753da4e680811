# SPDX-License-Identifier: Apache-2.0
"""Completions that bash offers after it has read the command's own script.

Specification: commands, "placement-manage", "placement-status"
"""

import subprocess
import sys
from collections.abc import Callable

import pytest

from placement.cmd import manage, status

MAINS = {'placement-manage': manage.main, 'placement-status': status.main}


@pytest.fixture
def script(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str, str], str]:
    """A function that returns the script of a command for a shell."""

    def print_script(command: str, shell: str) -> str:
        monkeypatch.setattr('sys.argv', [command])
        with pytest.raises(SystemExit):
            MAINS[command](['--shell_completion', shell])
        return capsys.readouterr().out

    return print_script


@pytest.mark.parametrize(
    ('command', 'typed', 'offered'),
    [
        ('placement-manage', '', {'db', 'openapi'}),
        ('placement-manage', 'db s', {'sync', 'stamp'}),
        ('placement-manage', 'db online_data_migrations --m', {'--max-count'}),
        ('placement-manage', '--config-f', {'--config-file'}),
        ('placement-status', 'upg', {'upgrade'}),
    ],
)
def test_bash_completes_commands_and_options(
    script: Callable[[str, str], str], command: str, typed: str, offered: set[str]
) -> None:
    words = typed.split(' ')
    lines = [
        script(command, 'bash'),
        f'COMP_WORDS=({command} {" ".join(word or repr("") for word in words)})',
        f'COMP_CWORD={len(words)}',
        f'_shtab_{command.replace("-", "_")}',
        'printf "%s\\n" "${COMPREPLY[@]}"',
    ]
    bash = ['bash', '--norc', '-c', '\n'.join(lines)]
    done = subprocess.run(bash, check=True, capture_output=True, text=True)

    assert offered <= set(done.stdout.split())
    assert script(command, 'zsh').startswith(f'#compdef {command}\n')


def test_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, 'shtab', None)
    with pytest.raises(SystemExit, match=r"pip install 'openstack-placement\[completion\]'"):
        manage.main(['--shell_completion', 'bash'])
