# SPDX-License-Identifier: Apache-2.0
"""`openstack placement drain plan` and `openstack placement moves verify`."""

import io
import json
import pathlib
import re
import shlex
from typing import Any
from unittest import mock

import pytest
from openstackclient.compute.v2 import server as server_commands
from openstackclient.compute.v2 import service as service_commands

from osc_placement_insight.tests.audit.clouds import Cloud
from osc_placement_insight.tests.client import Client, Printed
from osc_placement_insight.tests.what_if.conftest import LARGE, SMALL, ZONES

PLAN = ('placement', 'drain', 'plan')
VERIFY = ('placement', 'moves', 'verify')


def lines(printed: Printed, status: int = 0) -> list[str]:
    """Return the lines of a command, without the time."""
    assert (printed.status, printed.err) == (status, '')
    return re.sub(r'\d\d:\d\d:\d\d UTC', 'NOW', printed.out).splitlines()


def plan_in(path: pathlib.Path, openstack: Client, *arguments: str) -> str:
    """Return the path of a file with a plan."""
    path.write_text(openstack(*PLAN, *arguments, '-f', 'json').out)
    return str(path)


def test_who_finds_no_place_is_told_with_what_it_lacks(openstack: Client) -> None:
    printed = lines(openstack(*PLAN, 'c1', 'c2'), status=2)

    assert printed[0].startswith('2 of 3 servers find a place ')
    assert printed[printed.index('No place for 1:') + 1] == (
        '  web-2 ACTIVE c2: There is room for it alone, which others that lose their'
    )
    rows = openstack(*PLAN, 'c1', 'c2', '-f', 'csv').out.splitlines()
    assert rows[-1].startswith('"web-2","ACTIVE","c2","","{}","no place: There is room ')


def test_a_zone_is_drained_to_hosts_that_are_to_be_bought(openstack: Client) -> None:
    printed = lines(openstack(*PLAN, '@az1', '--add', 'c3=1'))

    assert printed[0].startswith('3 of 3 servers find a place ')
    assert printed[-1] == '  1. add c3=1: 1 tree'
    commands = openstack(*PLAN, '@az1', '--add', 'c3=1', '-f', 'commands').lines()
    assert commands[-1].endswith('# web-2: nova has no compute host for c3+1')


def test_servers_are_moved_alone(openstack: Client, cloud: Cloud) -> None:
    uuid = [*cloud.nova.servers][2]
    printed = lines(openstack(*PLAN, '--server', 'db-1', uuid))

    assert [line.split()[0] for line in printed[4:6]] == ['db-1', 'web-2']
    commands = openstack(*PLAN, '--server', 'db-1', '-f', 'commands').lines()
    assert [line for line in commands if 'compute service set' in line] == []


def test_commands_disable_the_sources_and_move_servers_to_compute_hosts(
    openstack: Client, cloud: Cloud
) -> None:
    cloud.nova.hosts |= {'c1': "c1's host", 'c3': 'c3.example'}
    db, web, _other = cloud.nova.servers.values()
    db.name, web.status = 'db\n$(reboot)\x1b[31m', 'SHUTOFF'
    commands = openstack(*PLAN, 'c1', '-f', 'commands').lines()

    assert re.fullmatch('# 2 of 2 servers find a place, at 20.*Z[.]', commands[0])
    disable, live, cold, confirm = (command.removeprefix('openstack ') for command in commands[2:])
    host = "'c1'\"'\"'s host'"
    assert disable == f'compute service set --disable --disable-reason drained {host} nova-compute'
    for command in (disable, live, cold, confirm):
        assert_client_takes(command)
    live_form = '--os-compute-api-version 2.30 server migrate --live-migration --host {} --wait {}'
    name = r'db\u000a$(reboot)\u001b[31m'
    assert live == live_form.format('c3.example', f'{db.uuid}  # {name}')
    cold_form = '--os-compute-api-version 2.56 server migrate --host c2 --wait {}  # web-1'
    assert cold == cold_form.format(web.uuid)
    assert confirm == f'server migration confirm {web.uuid}'


def assert_client_takes(command: str) -> None:
    """Let the real client of nova parse a command."""
    words = shlex.split(command, comments=True)
    parsers: dict[str, Any] = {
        'compute service set': service_commands.SetService,
        'server migrate': server_commands.MigrateServer,
        'server migration confirm': server_commands.ConfirmMigration,
    }
    if words[0] == '--os-compute-api-version':
        del words[:2]
    (name,) = (name for name in parsers if ' '.join(words).startswith(f'{name} '))
    arguments = words[len(name.split()) :]
    assert parsers[name](mock.Mock(), None).get_parser(name).parse_args(arguments)


@pytest.mark.parametrize(
    ('changes', 'why'),
    [
        ({'is_locked': True}, 'locked'),
        ({'task': 'deleting'}, 'busy (deleting)'),
        ({'status': 'ERROR'}, 'in error'),
        ({'status': 'VERIFY_RESIZE'}, 'to be confirmed or reverted first'),
        ({'status': 'SHELVED'}, 'shelved'),
    ],
)
def test_no_command_moves_what_cannot_be_moved(
    openstack: Client, cloud: Cloud, changes: dict[str, Any], why: str
) -> None:
    uuid, server = next(iter(cloud.nova.servers.items()))
    for name, value in changes.items():
        setattr(server, name, value)

    commands = openstack(*PLAN, 'c1', '-f', 'commands').lines()
    assert commands[3] == f'# not moved: {uuid}  # db-1: {why}'
    (row,) = (line for line in openstack(*PLAN, 'c1').lines() if line.startswith('db-1'))
    assert row.endswith(f'  not: {why}')


def test_commands_name_who_finds_no_place_and_whom_nova_does_not_know(
    openstack: Client, cloud: Cloud
) -> None:
    _db, web, other = cloud.nova.servers
    del cloud.nova.servers[web]
    printed = openstack(*PLAN, 'c1', 'c2', '-f', 'commands')

    assert printed.status == 2
    assert f'# not moved: {web}  # {web}: nova has no such server' in printed.out.splitlines()
    assert printed.out.splitlines()[-1].startswith(f'# no place: {other}  # web-2: There is room')


def test_hosts_that_are_not_alike_are_told_where_only_amounts_are_known(
    openstack: Client, cloud: Cloud
) -> None:
    next(iter(cloud.nova.servers.values())).flavor = SMALL
    told = ' '.join(lines(openstack(*PLAN, 'c1', '--disable', 'c2')))

    assert 'Of 1 only amounts are known, and their new host lacks traits of the old one, ' in told
    assert 'or is in another zone: db-1. Moves are independent: ' in told
    alone = openstack(*PLAN, 'c1', '--without-nova').lines()
    assert alone[0].startswith('2 of 2 servers find a place (without nova: ')
    assert openstack(*PLAN, 'c1', '--without-nova', '-f', 'commands').refusal() == (
        'Commands name compute hosts, which nova alone knows: leave out --without-nova.'
    )


def test_pools_have_room_for_so_many_moves_at_once(
    openstack: Client, cloud: Cloud, tmp_path: pathlib.Path
) -> None:
    shares = ('MISC_SHARES_VIA_AGGREGATE',)
    pool = cloud.provider('pool', {'DISK_GB': 100}, shares, tuple(ZONES))
    c1, *_others = cloud.nova.hypervisors
    for uuid, amount in zip(cloud.nova.servers, (12, 4), strict=False):
        cloud.claim(uuid, {c1: {'VCPU': amount}, pool: {'DISK_GB': 30}})

    assert lines(openstack(*PLAN, 'c1'))[-1].endswith('any order; pools have room for 1 at once.')
    plan = plan_in(tmp_path / 'plan.json', openstack, 'c1')
    assert openstack(*VERIFY, plan).status == 0
    assert openstack(*VERIFY, plan, '--at-once', '--evacuate').status == 0
    (first, *_rest) = lines(openstack(*VERIFY, plan, '--at-once'), status=2)
    assert first.startswith('Move 2 of 2 is not possible, at NOW: web-1 to ')


def test_a_plan_is_verified_as_it_was_printed(
    openstack: Client, cloud: Cloud, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_in(tmp_path / 'plan.json', openstack, 'c1')
    verified = [
        'All of 2 moves are possible in this order, at NOW.',
        '',
        'Fullest afterwards: c3 VCPU 75%, c2 VCPU 50%.',
    ]
    assert lines(openstack(*VERIFY, plan)) == verified
    monkeypatch.setattr('sys.stdin', io.StringIO(pathlib.Path(plan).read_text()))
    assert lines(openstack(*VERIFY, '-')) == verified

    c3 = [*cloud.nova.hypervisors][2]
    thief = cloud.server('c3', {c3: {'VCPU': 12}}, LARGE, 'thief')
    (first, *_rest) = lines(openstack(*VERIFY, plan), status=2)
    assert first.startswith('Move 1 of 2 is not possible, at NOW: db-1 to c3. Full now')
    rows = openstack(*VERIFY, plan, '-f', 'csv').out.splitlines()
    assert rows[1].startswith('1,"db-1","c3","not possible: Full now')
    assert rows[2] == '2,"web-1","c2","not examined"'
    assert lines(openstack(*VERIFY, plan, '--release', thief))[-1].startswith('  1. release ')
    db, *_others = cloud.nova.servers
    cloud.claim(db, {[*cloud.nova.hypervisors][1]: {'VCPU': 1}})
    refusal = ' '.join(lines(openstack(*VERIFY, plan), status=2))
    assert 'db-1 to c3. It has no allocations on the trees that it is to leave.' in refusal


def test_moves_may_leave_open_where_they_go(
    openstack: Client, cloud: Cloud, tmp_path: pathlib.Path
) -> None:
    moves = [{'consumer': uuid, 'to': None} for uuid in [*cloud.nova.servers][:2]]
    path = tmp_path / 'moves.json'
    path.write_text(json.dumps(moves))

    printed = lines(openstack(*VERIFY, str(path)))
    assert printed[2:5] == [
        'Hosts that were left open:',
        f'  {moves[0]["consumer"]}: c3',
        f'  {moves[1]["consumer"]}: c2',
    ]
    path.write_text('[]')
    assert openstack(*VERIFY, str(path)).lines() == ['There is nothing to move.']
    path.write_text('{}')
    refusal = openstack(*VERIFY, str(path)).refusal()
    assert refusal.startswith(f'{path} is no plan, as "openstack placement drain plan -f json" ')
