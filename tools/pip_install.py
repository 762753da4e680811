# SPDX-License-Identifier: Apache-2.0
"""pip install, with one line on a terminal that shows its activity.

    python tools/pip_install.py [arguments of pip install]

pip itself is either silent for half a minute or prints hundreds of lines. Without a terminal,
nothing is printed unless it fails: with --quiet, pip would not name the conflicting versions.
"""

import shutil
import subprocess
import sys

INSTALL = (sys.executable, '-m', 'pip', 'install', '--disable-pip-version-check')
LAST_LINES = 40
ERASE_LINE = '\r\033[K'


def main(arguments: list[str]) -> int:
    """Run pip; its exit status."""
    command = [*INSTALL, '--progress-bar', 'off', *arguments]
    if not sys.stdout.isatty():
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            print(*done.stdout.splitlines()[-LAST_LINES:], sep='\n', file=sys.stderr)
        return done.returncode
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as pip:
            assert pip.stdout is not None
            for line in pip.stdout:
                width = shutil.get_terminal_size().columns - 1
                print(f'{ERASE_LINE}{"    " + line.strip():.{width}}', end='', flush=True)
    finally:
        print(ERASE_LINE, end='', flush=True)
    return pip.returncode


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
