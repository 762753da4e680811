# SPDX-License-Identifier: Apache-2.0
"""The session of the page about a maintenance night, with a zone of the cloud of `make demo`."""

import json
import pathlib
import re
import shlex
import subprocess
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from docutils import nodes

from osc_placement_insight.tests import demo_nova
from osc_placement_insight.tests.audit import clouds
from osc_placement_insight.tests.audit.nova import Nova
from osc_placement_insight.tests.client import Client
from osc_placement_insight.tests.clouds import Cloud
from osc_placement_insight.tests.conftest import Service
from placement.cmd.demo_cloud import loading
from placement.cmd.demo_cloud.cloud import make_cloud
from placement.db.engine.database import Database
from placement.tests.unit import samples

PAGE = pathlib.Path(__file__).parents[3] / 'doc' / 'source' / 'maintenance-night.rst'
LOCKED = 'az4-cpu-004-vm2'
#: A line of the page that stands for any others.
AND_SO_ON = '...'


class Night:
    """An operator who types the commands of the page."""

    def __init__(self, openstack: Client, cloud: Cloud, nova: Nova) -> None:
        self._openstack, self._cloud, self._nova = openstack, cloud, nova

    def type(self, command: str) -> str:
        """Return what a command prints."""
        typed, _, file = command.partition(' > ')
        words = shlex.split(typed)
        if words == ['sh', 'drain.sh']:
            self._execute()
            return ''
        if words[0] != 'openstack':
            return subprocess.check_output(['sh', '-c', command], text=True)
        printed = self._openstack(*words[1:])
        assert printed.status in (0, 2)
        assert printed.err == ''
        if file:
            pathlib.Path(file).write_text(printed.out)
        return '' if file else printed.out

    def _execute(self) -> None:
        """Do in placement what nova does for each command: disable hosts, and move servers."""
        moves = json.loads(pathlib.Path('plan.json').read_text())['moves']
        goals = {move['consumer']: move for move in moves}
        for line in pathlib.Path('drain.sh').read_text().splitlines():
            words = shlex.split(line, comments=True)
            if 'service' in words:
                self._disable(words[-2])
            elif 'migrate' in words:
                move = goals[words[-1]]
                assert words[words.index('--host') + 1] == move['to']['name']
                self._move(move)

    def _disable(self, host: str) -> None:
        (root,) = (one for one, name in self._nova.hypervisors.items() if name == host)
        path = f'/resource_providers/{root}/traits'
        had = self._cloud.send('GET', path)
        had['traits'].append('COMPUTE_STATUS_DISABLED')
        self._cloud.send('PUT', path, had)

    def _move(self, move: dict[str, Any]) -> None:
        """Hold the source as a migration, until the server has arrived."""
        server, migration = move['consumer'], str(uuid.uuid5(uuid.NAMESPACE_OID, move['consumer']))
        now = self._cloud.held(server)
        source = {one: {'resources': row['resources']} for one, row in now['allocations'].items()}
        owner = {'project_id': now['project_id'], 'user_id': now['user_id']}
        generations = {server: now['consumer_generation'], migration: None}
        held = {server: move['allocations'], migration: source}
        body = {
            one: {'allocations': held[one], 'consumer_generation': generations[one], **owner}
            for one in held
        }
        self._cloud.send('POST', '/allocations', body, '1.37')
        self._cloud.claim(migration, {})
        self._nova.servers[server].node = move['to']['name']


@pytest.fixture
def night(
    service: Service, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Night]:
    """An operator of a zone of the demonstration."""
    monkeypatch.chdir(tmp_path)
    assert service.conf_fixture is not None
    zone = demo_nova.zone_of(make_cloud(), 'az4')
    database = Database.from_conf(service.conf_fixture.conf)
    loading.load(database, zone)
    database.dispose()
    nova = demo_nova.nova_of(zone)
    (locked,) = (server for server in nova.servers.values() if server.name == LOCKED)
    locked.is_locked = True
    with clouds.client_with_nova(service, nova) as openstack:
        yield Night(openstack, Cloud(service), nova)


def test_each_command_of_the_night_prints_what_the_page_shows(night: Night) -> None:
    tree, complaints = samples.parse_page(PAGE.read_text())
    assert complaints == ''
    blocks = [block.astext() for block in tree.findall(nodes.literal_block)]
    typed = [step for block in blocks for step in commands(block)]
    assert len(typed) == 14
    for command, output in typed:
        if command == 'cat racks.yaml':
            pathlib.Path('racks.yaml').write_text(output)
        printed = night.type(command)
        assert re.fullmatch(pattern(output), lines_of(printed)), f'{command}\n{printed}'


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Each command behind a dollar, and what it prints."""
    for piece in re.split(r'^\$ ', block.replace('\\\n', ''), flags=re.MULTILINE)[1:]:
        command, _, output = piece.partition('\n')
        yield command, output


def pattern(shown: str) -> str:
    """The expression for what a command prints, where lines may stand for others."""
    lines = lines_of(shown).split('\n')
    return '\n'.join('(?s:.*)' if line == AND_SO_ON else re.escape(line) for line in lines)


def lines_of(text: str) -> str:
    """The text without times, and without spaces at the ends of lines."""
    masked = re.sub(r'\d\d:\d\d:\d\d UTC|\d{4}-\d\d-\d\dT[\d:]+Z', 'NOW', text)
    return '\n'.join(line.rstrip() for line in masked.strip('\n').splitlines())
