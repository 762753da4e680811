# SPDX-License-Identifier: Apache-2.0
"""pip install, with one line on a terminal that tells what it is doing.

    python tools/pip_install.py [arguments of pip install]

pip itself is either silent for half a minute or prints hundreds of lines. Elsewhere than on a
terminal only errors are printed, as with --quiet.
"""

import shutil
import subprocess
import sys

INSTALL = (sys.executable, '-m', 'pip', 'install', '--disable-pip-version-check')
ERASE_LINE = '\r\033[K'


def main(arguments: list[str]) -> int:
    """Run pip; its exit status."""
    if not sys.stdout.isatty():
        return subprocess.call([*INSTALL, '--quiet', '--quiet', *arguments])
    command = [*INSTALL, '--progress-bar', 'off', *arguments]
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
