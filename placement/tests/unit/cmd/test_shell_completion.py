# SPDX-License-Identifier: Apache-2.0
"""What bash offers for a command after it has read the command's own script.

Specification: commands, "placement-manage", "placement-status"
"""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from placement.cmd import manage, status
sys.argv[0] = sys.argv[1]
sys.exit({'placement-manage': manage, 'placement-status': status}[sys.argv.pop(1)].main())
"""


def script(command: str, shell: str) -> str:
    """What the command prints for a shell."""
    arguments = [sys.executable, '-c', PROGRAM, command, '--shell_completion', shell]
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


def completions(command: str, typed: str) -> set[str]:
    """What bash offers for the last of the words typed."""
    words = typed.split(' ')
    lines = [
        script(command, 'bash'),
        f'COMP_WORDS=({command} {" ".join(word or repr("") for word in words)})',
        f'COMP_CWORD={len(words)}',
        f'_shtab_{command.replace("-", "_")}',
        'printf "%s\\n" "${COMPREPLY[@]}"',
    ]
    bash = ['bash', '--norc', '-c', '\n'.join(lines)]
    return set(subprocess.run(bash, check=True, capture_output=True, text=True).stdout.split())


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
def test_bash_completes_commands_and_options(command: str, typed: str, offered: set[str]) -> None:
    assert offered <= completions(command, typed)


@pytest.mark.parametrize('command', ['placement-manage', 'placement-status'])
def test_zsh_gets_a_script_of_its_own(command: str) -> None:
    assert script(command, 'zsh').startswith(f'#compdef {command}\n')
