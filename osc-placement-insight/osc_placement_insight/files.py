# SPDX-License-Identifier: Apache-2.0
"""Files that commands read, in YAML or JSON."""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

import yaml
from osc_lib import exceptions

STANDARD_INPUT = '-'
# The faster loaders of C are not everywhere.
VALUES = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
NAMES = getattr(yaml, 'CBaseLoader', yaml.BaseLoader)


def read(name: str | pathlib.Path, called: str | None = None, has_names_only: bool = False) -> Any:
    """The values in a file, or on standard input; `called` is its name in errors.

    What YAML takes for numbers or dates are names where it `has_names_only`.

    :raises osc_lib.exceptions.CommandError: it cannot be read, or is neither YAML nor JSON
    """
    try:
        is_stream = name == STANDARD_INPUT
        text = sys.stdin.read() if is_stream else pathlib.Path(name).read_text('utf-8')
        return _values(text, NAMES if has_names_only else VALUES)
    except OSError as error:
        raise exceptions.CommandError(f'{called or name} cannot be read: {error}') from error
    except (UnicodeError, yaml.YAMLError) as error:
        raise exceptions.CommandError(f'{name} is neither YAML nor JSON: {error}') from error


def _values(written: str, loader: Any) -> Any:
    # JSON first: YAML has no surrogate pairs, which JSON in ASCII writes for an emoji.
    try:
        return json.loads(written)
    except json.JSONDecodeError:
        return yaml.load(written, Loader=loader)
