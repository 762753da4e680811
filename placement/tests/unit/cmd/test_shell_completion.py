# SPDX-License-Identifier: Apache-2.0
"""Completions that bash offers after it has read the command's own script.

Specification: commands, "placement-manage", "placement-status"
"""

import subprocess
import sys

import pytest

from placement.cmd import manage, status

MAINS = {'placement-manage': manage.main, 'placement-status': status.main}


class Shells:
    """The scripts that commands print for shells."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def script(self, command: str, shell: str) -> str:
        """The script of a command for a shell."""
        self._monkeypatch.setattr('sys.argv', [command])
        with pytest.raises(SystemExit):
            MAINS[command](['--shell_completion', shell])
        return self._capsys.readouterr().out

    def completions(self, command: str, typed: str) -> set[str]:
        """The words that bash offers for the last of the words typed."""
        words = typed.split(' ')
        lines = [
            self.script(command, 'bash'),
            f'COMP_WORDS=({command} {" ".join(word or repr("") for word in words)})',
            f'COMP_CWORD={len(words)}',
            f'_shtab_{command.replace("-", "_")}',
            'printf "%s\\n" "${COMPREPLY[@]}"',
        ]
        bash = ['bash', '--norc', '-c', '\n'.join(lines)]
        done = subprocess.run(bash, check=True, capture_output=True, text=True)
        return set(done.stdout.split())


@pytest.fixture
def shells(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shells:
    return Shells(monkeypatch, capsys)


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
    shells: Shells, command: str, typed: str, offered: set[str]
) -> None:
    assert offered <= shells.completions(command, typed)


@pytest.mark.parametrize('command', ['placement-manage', 'placement-status'])
def test_zsh_gets_a_script_of_its_own(shells: Shells, command: str) -> None:
    assert shells.script(command, 'zsh').startswith(f'#compdef {command}\n')


def test_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, 'shtab', None)
    with pytest.raises(SystemExit, match=r"pip install 'openstack-placement\[completion\]'"):
        manage.main(['--shell_completion', 'bash'])
