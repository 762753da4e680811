# SPDX-License-Identifier: Apache-2.0
"""Values of options that argparse does not know: each function takes the text of an option.

All raise `argparse.ArgumentTypeError`, whose message ends the command with the exit status 2.
"""

from __future__ import annotations

import argparse
import datetime
import re
import threading


def seconds(text: str) -> float:
    """A time to wait, 0 or more."""
    try:
        found = float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f'{text!r} is not a number') from error
    if not 0 <= found <= threading.TIMEOUT_MAX:
        raise argparse.ArgumentTypeError(f'{text} is not a time to wait')
    return found


def count(text: str) -> int:
    """A number of things, 0 or more."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f'{text!r} is not a whole number, 0 or more')
    return int(text)


#: The units of an age.
UNITS = {'s': 'seconds', 'm': 'minutes', 'h': 'hours', 'd': 'days', 'w': 'weeks'}


def moment(text: str) -> str:
    """A time: an age such as 30m, 1h or 7d is counted back from now; other text stays as it is."""
    age = re.fullmatch(f'([0-9]+)([{"".join(UNITS)}])', text)
    if age is None:
        return text
    try:
        time = datetime.datetime.now(datetime.UTC) - datetime.timedelta(
            **{UNITS[age[2]]: int(age[1])}
        )
    except OverflowError as error:
        raise argparse.ArgumentTypeError(f'{text} is too long ago') from error
    return f'{time:%Y-%m-%dT%H:%M:%SZ}'
