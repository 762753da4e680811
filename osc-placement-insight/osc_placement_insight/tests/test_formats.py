# SPDX-License-Identifier: Apache-2.0
"""Each format shows the same, and names write no control characters to a terminal."""

import csv
import io
import json
from typing import Any

import pytest
import yaml

from osc_placement_insight import cells
from osc_placement_insight.commands import changes
from osc_placement_insight.streaming import RowStream
from osc_placement_insight.tests.client import Client
from osc_placement_insight.tests.clouds import Cloud
from osc_placement_insight.tests.conftest import Service, running

#: ESC, BEL, DEL and CSI: a title for the window, and red from there on.
#: And what turns the order of letters round.
NAME = 'h\x1b]0;x\x07\x7f\x9b31m\u202e'
ESCAPED = r'\u001b]0;x'

#: Commands of which json and yaml show the answer as the service gave it, and the question.
WHOLE = {
    'allocation candidate explain --resource VCPU=9': 'allocation_candidates?resources=VCPU:9',
    'placement capacity show --resource VCPU=3': 'capacity?resources=VCPU:3',
}
LISTS = (
    'placement capacity list --resource VCPU=1',
    'placement change list --since 1h --include usages,traits',
    'placement consumer list',
    'placement unmet demand list',
    'placement usage list --by project',
)
NAMED = {
    'placement tree show {}': ('text', 'dot', 'table', 'csv', 'value'),
    'placement history list --provider {}': ('text', 'table', 'csv', 'value'),
    LISTS[0]: ('table', 'csv', 'value'),
    LISTS[1]: ('table', 'csv', 'value'),
}


#: One cloud for all tests, which only read.
service = pytest.fixture(scope='module')(running)


@pytest.fixture(scope='module')
def cloud(service: Service) -> Cloud:
    """A host with such a name, its child, a server, and an unsuccessful search."""
    cloud = Cloud(service)
    host = cloud.provider(NAME, {'VCPU': 8}, ('CUSTOM_A', 'CUSTOM_B'), uuid=HOST)
    cloud.provider(f'{NAME}0', {'VCPU': 8}, parent=host)
    cloud.claim('d1000000-0000-4000-8000-000000000001', {host: {'VCPU': 3}}, 'INSTANCE')
    cloud.search('resources=VCPU:9', 'req-0d5c1a4e-3a52-4f7a-9c7b-1f0f6a3c2b11')
    return cloud


HOST = 'a1000000-0000-4000-8000-000000000001'


@pytest.mark.parametrize('command', WHOLE)
def test_json_and_yaml_show_an_answer_as_the_service_gave_it(
    openstack: Client, cloud: Cloud, command: str
) -> None:
    answer = cloud.send('GET', f'/insight/{WHOLE[command]}')

    assert openstack(*command.split(), '-f', 'json').values() == answer
    assert yaml.safe_load(openstack(*command.split(), '-f', 'yaml').out) == answer


@pytest.mark.usefixtures('cloud')
@pytest.mark.parametrize('command', LISTS)
def test_csv_of_a_list_has_the_same_rows_as_json(
    openstack: Client, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A second may pass between the two commands.
    monkeypatch.setattr(changes, 'now', lambda: '2026-11-28T12:00:00Z')
    rows = json.loads(openstack(*command.split(), '-f', 'json').out)
    shown = openstack(*command.split(), '-f', 'csv').out.splitlines()
    header, *lines = csv.reader(shown, escapechar='\\')

    assert header == [*rows[0]]
    assert [
        [read_back(cell, value) for cell, value in zip(line, row.values(), strict=True)]
        for line, row in zip(lines, rows, strict=True)
    ] == [[cells.escaped(v) if isinstance(v, str) else v for v in row.values()] for row in rows]


def read_back(cell: str, shown: Any) -> Any:
    """The value of a cell, where JSON shows this: numbers, lists and objects are JSON there."""
    return cell if isinstance(shown, str) else json.loads(cell or 'null')


@pytest.mark.usefixtures('cloud')
@pytest.mark.parametrize(
    ('command', 'format_name'),
    [(command, format_name) for command, formats in NAMED.items() for format_name in formats],
)
def test_control_characters_of_names_are_escaped(
    openstack: Client, command: str, format_name: str
) -> None:
    printed = openstack(*command.format(HOST).split(), '-f', format_name).out

    assert ESCAPED in printed
    assert not cells.CONTROL.search(''.join(printed.splitlines()))


@pytest.mark.parametrize(
    ('format_name', 'text'),
    [
        ('json', '{"name": "\\u001b\\u007f", "traits": ["\\u001b\\u007f"]}\n'),
        ('yaml', '- name: "\\e\\x7F"\n  traits:\n  - "\\e\\x7F"\n'),
        ('csv', '"name","traits"\n"\\u001b\\u007f","[""\\u001b\\u007f""]"\n'),
        ('value', '\\u001b\\u007f ["\\u001b\\u007f"]\n'),
        ('table', '\\u001b\\u007f \\u001b\\u007f\n'),
    ],
)
def test_each_format_has_what_is_followed_and_escapes_control_characters(
    format_name: str, text: str
) -> None:
    stream = io.StringIO()
    RowStream(stream, format_name, ['name', 'traits']).write([['\x1b\x7f', ['\x1b\x7f']]])

    assert stream.getvalue() == text
