# SPDX-License-Identifier: Apache-2.0
"""The help of each command has an example, which the command understands."""

import configparser
import importlib
import pathlib
import re
import shlex
from typing import Any

import pytest

DISTRIBUTION = pathlib.Path(__file__).parents[2]
SETUP = configparser.ConfigParser(interpolation=None)
SETUP.read(DISTRIBUTION / 'setup.cfg')
COMMANDS = dict(
    line.split(' = ')
    for line in SETUP['options.entry_points']['openstack.placement.v1'].split('\n')
    if line
)


@pytest.mark.parametrize('name', COMMANDS)
def test_the_example_is_one_that_the_command_understands(name: str) -> None:
    module, _, member = COMMANDS[name].partition(':')
    command: Any = getattr(importlib.import_module(module), member)(None, None)
    parser = command.get_parser(f'openstack {name}')

    (example,) = re.findall(r'^Example: openstack (.+)$', command.get_epilog(), re.MULTILINE)
    words = [
        known.split('_')
        for known, other in COMMANDS.items()
        if other == COMMANDS[name] and example.startswith(known.replace('_', ' '))
    ]
    assert words, example
    parsed = parser.parse_args(shlex.split(example)[len(words[0]) :])
    assert vars(parsed)


def test_what_is_asked_most_has_a_short_name() -> None:
    assert COMMANDS['placement_explain'] == COMMANDS['allocation_candidate_explain']
