# SPDX-License-Identifier: Apache-2.0
"""The session of the page about the command line, with the cloud of `make demo`."""

import pathlib
import shlex
from collections.abc import Iterator

import pytest
from docutils import nodes

from osc_placement_insight.tests.client import Client
from osc_placement_insight.tests.clouds import Cloud
from osc_placement_insight.tests.conftest import Service
from placement.cmd.demo_cloud import loading
from placement.cmd.demo_cloud.cloud import list_searches_in_vain, make_cloud
from placement.db.engine.database import Database
from placement.tests.servers import pages
from placement.tests.unit import samples

PAGE = pathlib.Path(__file__).parents[3] / 'doc' / 'source' / 'command-line.rst'


@pytest.fixture(scope='module')
def service() -> Iterator[Service]:
    """The demonstration, after its searches in vain."""
    with Service() as service:
        assert service.conf_fixture is not None
        database = Database.from_conf(service.conf_fixture.conf)
        loading.load(database, make_cloud())
        database.dispose()
        cloud = Cloud(service)
        for request_id, query in list_searches_in_vain().items():
            cloud.search(query, request_id)
        yield service


def commands(title: str) -> list[pages.Command]:
    """The commands of a section of the page, with what they print."""
    tree, complaints = samples.parse_page(PAGE.read_text())
    assert complaints == ''
    (section,) = (one for one in tree.findall(nodes.section) if one[0].astext() == title)
    blocks = (block.astext() for block in section.findall(nodes.literal_block))
    return [command for block in blocks for command in pages.commands(block)]


def test_each_command_of_the_session_prints_what_the_page_shows(openstack: Client) -> None:
    shown = commands('A session')
    assert len(shown) == 4
    for step in shown:
        program, *arguments = shlex.split(step.text.replace('\\\n', ''))
        assert program == 'openstack'
        printed = '\n'.join(openstack(*arguments).lines())
        assert spaced(printed) == spaced(step.output), step.text


def spaced(text: str) -> list[str]:
    """The lines, without spaces at their ends."""
    return [line.rstrip() for line in text.strip('\n').splitlines()]
