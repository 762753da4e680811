# SPDX-License-Identifier: Apache-2.0
"""Sessions of the pages, with the cloud of `make demo`: each command prints what is shown."""

import contextlib
import json
import pathlib
import re
import shlex
import subprocess
from collections.abc import Iterator

import pytest
from docutils import nodes

from osc_placement_insight.tests import demo_nova
from osc_placement_insight.tests.audit import clouds
from osc_placement_insight.tests.audit.clouds import Cloud
from placement.feed.sink import open_database
from placement.tests.unit import samples
from placement_insight.demo_cloud import cloud as demo
from placement_insight.demo_cloud import loading

PAGES = pathlib.Path(__file__).parents[3] / 'doc' / 'source'
LOCKED = 'az4-cpu-004-vm2'
#: A line of the page that stands for any others.
AND_SO_ON = '...'


class Operator:
    """An operator who types the commands of a page."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud

    def type(self, command: str) -> str:
        """Return what a command prints."""
        typed, _, file = command.partition(' > ')
        words = shlex.split(typed)
        if words == ['sh', 'drain.sh']:
            self._execute()
            return ''
        if words[0] != 'openstack':
            return subprocess.check_output(['sh', '-c', command], text=True)
        printed = self._cloud.openstack(*words[1:])
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
                # Hold the destination in place of the source.
                held = {one: row['resources'] for one, row in move['allocations'].items()}
                self._cloud.claim(move['consumer'], held)
                self._cloud.nova.servers[move['consumer']].node = move['to']['name']

    def _disable(self, host: str) -> None:
        (root,) = (one for one, name in self._cloud.nova.hypervisors.items() if name == host)
        path = f'/resource_providers/{root}/traits'
        had = self._cloud.send('GET', path)
        had['traits'].append('COMPUTE_STATUS_DISABLED')
        self._cloud.send('PUT', path, had)


def load(cloud: Cloud, demonstration: demo.Cloud) -> None:
    """Put the demonstration, or a part of it, into the database."""
    database = open_database(cloud.conf)
    loading.load(database, demonstration)
    database.dispose()


def test_a_session_prints_what_the_page_about_the_command_line_shows() -> None:
    with clouds.running_cloud() as cloud:
        load(cloud, demo.make_cloud())
        for request_id, query in demo.list_searches_in_vain().items():
            # One names a trait that does not exist.
            is_refused = 'AA40' in query
            with pytest.raises(AssertionError) if is_refused else contextlib.nullcontext():
                cloud.search(query, request_id)
        check('command-line.rst', cloud, 4)


def test_a_night_prints_what_the_page_about_maintenance_shows(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    zone = demo_nova.zone_of(demo.make_cloud(), 'az4')
    nova = demo_nova.nova_of(zone)
    (locked,) = (server for server in nova.servers.values() if server.name == LOCKED)
    locked.is_locked = True
    with clouds.running_cloud(nova) as cloud:
        load(cloud, zone)
        check('maintenance.rst', cloud, 14)


def check(page: str, cloud: Cloud, count: int) -> None:
    """Type the commands of a page, which are so many."""
    tree, complaints = samples.parse_page((PAGES / page).read_text())
    assert complaints == ''
    blocks = [one for one in tree.findall(nodes.literal_block) if 'console' in one['classes']]
    typed = [step for block in blocks for step in commands(block.astext())]
    assert len(typed) == count
    operator = Operator(cloud)
    for command, output in typed:
        if command == 'cat racks.yaml':
            pathlib.Path('racks.yaml').write_text(output)
        printed = operator.type(command)
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
