# SPDX-License-Identifier: Apache-2.0
"""Names cannot write control characters to the terminal of whoever lists them."""

import sys

import pytest

from osc_placement_insight import cells
from osc_placement_insight.streaming import RowStream
from osc_placement_insight.tests.client import Client
from osc_placement_insight.tests.clouds import Cloud
from osc_placement_insight.tests.conftest import Service

#: ESC, BEL, DEL and CSI: a title for the window, and red from there on.
NAME = 'h\x1b]0;x\x07\x7f\x9b31m'


@pytest.fixture(autouse=True)
def host(service: Service) -> str:
    """The uuid of a provider with such a name, which has a child with another."""
    cloud = Cloud(service)
    host = cloud.provider(NAME, {'VCPU': 8})
    cloud.provider(f'{NAME}0', {'VCPU': 8}, parent=host)
    return host


@pytest.mark.parametrize(
    ('command', 'format_name'),
    [
        *(('tree show', name) for name in ('text', 'dot', 'table', 'csv', 'value')),
        *(('history list --provider', name) for name in ('text', 'table', 'csv', 'value')),
    ],
)
def test_control_characters_of_names_are_escaped(
    openstack: Client, host: str, command: str, format_name: str
) -> None:
    lines = openstack('placement', *command.split(), host, '-f', format_name).lines()

    assert not cells.CONTROL.search(''.join(lines))
    assert r'\u001b]0;x' in ''.join(lines)


@pytest.mark.parametrize('format_name', ['table', 'csv', 'value'])
def test_control_characters_are_escaped_in_lists(openstack: Client, format_name: str) -> None:
    listed = openstack('placement', 'change', 'list', '--since', '1h', '-f', format_name)

    assert r'\u001b]0;x' in listed.out
    assert not cells.CONTROL.search(''.join(listed.out.splitlines()))


@pytest.mark.parametrize('format_name', ['table', 'csv', 'value'])
def test_control_characters_are_escaped_in_what_is_followed(
    capsys: pytest.CaptureFixture[str], format_name: str
) -> None:
    RowStream(sys.stdout, format_name, ['name', 'traits']).write([[NAME, [NAME]]])

    assert not cells.CONTROL.search(''.join(capsys.readouterr().out.splitlines()))


def test_json_has_names_as_they_are(openstack: Client, host: str) -> None:
    tree = openstack('placement', 'tree', 'show', host, '-f', 'json').values()

    assert tree['providers'][0]['name'] in (NAME, f'{NAME}0')
