# SPDX-License-Identifier: Apache-2.0
"""`openstack placement survival show`."""

import json
import pathlib

import pytest

from osc_placement_insight.tests.audit import nova
from osc_placement_insight.tests.audit.clouds import Cloud, Host
from osc_placement_insight.tests.client import Client, Printed
from osc_placement_insight.tests.what_if.conftest import SMALL
from osc_placement_insight.what_if import losses, seeking

SHOW = ('placement', 'survival', 'show')


def failing(printed: Printed) -> list[str]:
    """Return the lines of a command that found a loss that is not survived."""
    assert (printed.status, printed.err) == (2, '')
    return printed.out.splitlines()


def test_hosts_are_lost_one_by_one(openstack: Client) -> None:
    assert openstack(*SHOW, '--flavor', 'm1.small', '--flavor', 'm1.large').lines() == [
        'Each of 2 losses by itself would be survived (flavors, zones and server groups',
        'as nova has them).',
        '',
        'lost  servers  placed  alike  verdict   lacking',
        'c1          2       2      2  survived',
        'c2          1       1      1  survived',
        '',
        'Room after the worst of these losses:',
        '  m1.small: 3 (c1)',
        '  m1.large: 1 (c1)',
    ]


def test_zones_are_those_of_nova(openstack: Client, cloud: Cloud) -> None:
    lost = failing(openstack(*SHOW, '--lose', 'zones', '-f', 'json'))
    rows = json.loads('\n'.join(lost))['domains']
    assert [(row['domain'], row['consumers'], row['placed']) for row in rows] == [
        ('az1', 3, 2),
        ('az2', 0, 0),
    ]
    for name in ('az1', cloud.nova.aggregates[0]['uuid']):
        (row,) = json.loads(openstack(*SHOW, '--lose', f'@{name}', '-f', 'json').out)['domains']
        assert (row['domain'], row['consumers'], row['placed']) == (name, 3, 2)
    # In two aggregates, which are one zone.
    cloud.nova.aggregates[0]['hosts'].remove('c2')
    cloud.nova.aggregates.append(nova.aggregate(cloud.new_uuid(), 'other', 'az1', 'c2'))
    assert failing(openstack(*SHOW, '--lose', 'zones', '-f', 'csv'))[1].startswith('"az1",3,2')


def test_what_a_server_may_not_leave_is_known_from_nova(openstack: Client, cloud: Cloud) -> None:
    db, web, _other = cloud.nova.servers.values()
    assert openstack(*SHOW).status == 0

    db.pinned_zone = 'az1'
    assert openstack(*SHOW).status == 0
    # Nobody else of a group on the only host that has room.
    cloud.server('c2', {[*cloud.nova.hypervisors][1]: {'VCPU': 4}}, SMALL, 'web-3')
    cloud.nova.server_groups += [
        {'policy': 'affinity', 'rules': {}, 'members': [db.uuid, web.uuid]},
        {'policy': 'anti-affinity', 'rules': {'max_server_per_host': 2}, 'members': []},
    ]
    lines = failing(openstack(*SHOW, '--failing'))
    words = 'or where some may share a host, which is not in the answer: 2.'
    assert words in ' '.join(lines)
    assert '  db-1: ' in '\n'.join(lines)
    db.pinned_zone = None
    cloud.nova.server_groups.append(
        {'policy': 'anti-affinity', 'rules': {}, 'members': [db.uuid, web.uuid]}
    )
    assert openstack(*SHOW).status == 0
    assert openstack(*SHOW, '--disable', 'c2').status == 2


def test_migrations_and_ironic_nodes_need_no_place(openstack: Client, cloud: Cloud) -> None:
    c1, c2, _c3 = (Host(name, uuid) for uuid, name in cloud.nova.hypervisors.items())
    web = [*cloud.nova.servers][2]
    cloud.migration(web, 'migration', 'finished', (c1, c2), {c2.uuid: {'VCPU': 12}})
    shown = {'with nova': SHOW, 'without': (*SHOW, '--without-nova')}
    rows = {name: openstack(*command, '-f', 'csv').lines()[1:] for name, command in shown.items()}
    assert rows['with nova'][1].startswith('"c2",1,1')
    assert rows['without'][1].startswith('"c2",2,2')

    cloud.nova.hypervisor_types['c1'] = 'ironic'
    assert openstack(*SHOW, '-f', 'csv').lines()[1].startswith('"c1",0,0')


def test_servers_are_known_by_what_they_hold_where_that_is_not_their_flavor(
    openstack: Client, cloud: Cloud
) -> None:
    db, web, _other = cloud.nova.servers.values()
    db.flavor = SMALL
    cloud.nova.flavors.append(nova.flavor(4, 0, 0, name='odd', trait__CUSTOM_NOBODY='required'))
    web.flavor = cloud.nova.flavors[-1]
    lines = openstack(*SHOW).lines()

    assert lines[0].startswith('Request servers of odd: No such trait(s): CUSTOM_NOBODY.')
    words = 'Servers that hold other amounts than their flavor has, and are known by these: 1.'
    assert words in ' '.join(lines)
    rows = openstack(*SHOW, '-f', 'json').values()['domains']
    assert [row['known'] for row in rows] == [
        {'requests': 0, 'amounts': 2},
        {'requests': 1, 'amounts': 0},
    ]


def test_nova_may_be_left_out(openstack: Client, cloud: Cloud) -> None:
    cloud.nova.is_failing = True

    assert ' '.join(openstack(*SHOW, '--without-nova').lines()[:2]) == (
        'Each of 2 losses by itself would be survived (without nova: only what is held is known).'
    )
    assert openstack(*SHOW).refusal().startswith('Nova refuses /servers/detail: ')
    refusal = openstack(*SHOW, '--without-nova', '--lose', 'zones').refusal()
    assert refusal.startswith(
        'The service gives no names to aggregates, so that zones are known to'
    )


def test_it_is_said_of_which_losses_nothing_is_known() -> None:
    """Even who would lose a place is not, once the budget of a page is spent."""
    row = dict.fromkeys((*losses.COLUMNS, 'name'))
    row |= {'domain': 'rack', 'exact': False, 'lacking': {}, 'unplaced': []}
    answer = {'domains': [row], 'examined': 1, 'left': None}

    assert list(losses.lines(answer, 'basis', {})) == [
        '0 of 1 loss would not be survived; of 1 it is not known (basis).',
        '',
        'lost  servers  placed  alike  verdict    lacking',
        'rack        ?       ?      ?  not known',
    ]


def test_domains_are_those_of_a_file(
    openstack: Client, cloud: Cloud, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / 'racks.yaml'
    path.write_text('7: [c1, c3]\nzone: "@az1"\n')
    rows = [line.split()[:4] for line in failing(openstack(*SHOW, '--lose', str(path)))]

    assert rows[4:6] == [['7', '2', '1', '1'], ['zone', '3', '2', '2']]
    # What YAML takes for a number is a name.
    path.write_text('racks: [0x10]\n')
    assert '0x10' in openstack(*SHOW, '--lose', str(path)).refusal()
    path.write_text('[c1]')
    assert 'does not name what is lost together' in openstack(*SHOW, '--lose', str(path)).refusal()


def test_how_much_to_buy_and_to_sell_is_sought(openstack: Client, cloud: Cloud) -> None:
    bought = openstack(*SHOW, '--lose', 'zones', '--buy', 'c3', '-f', 'json').values()
    assert (bought['buy'], bought['scenario'][0]['trees']) == (1, 1)
    words = 'With 1 more host like c3 every loss would be survived, without it not.'
    assert openstack(*SHOW, '--lose', 'zones', '--buy', 'c3').lines()[0] == words
    assert openstack(*SHOW, '--buy', 'c3').lines()[0].startswith('Nothing has to be bought: ')

    words = 'With 3 more servers of m1.small every loss would be survived, with 4 not.'
    assert openstack(*SHOW, '--sell', 'm1.small').lines()[0] == words
    assert failing(openstack(*SHOW, '--lose', 'zones', '--sell', 'm1.small'))[0] == (
        'Nothing can be sold: not every loss is survived now.'
    )


@pytest.mark.parametrize(('least', 'most'), [(0, 9), (1, 9), (5, 9), (9, 9), (7, 1000)])
def test_the_least_number_is_found_by_few_questions(least: int, most: int) -> None:
    asked: list[int] = []

    def holds(number: int) -> bool:
        asked.append(number)
        return number >= least

    assert seeking.least(holds, most) == least
    assert len(asked) == len({*asked}) <= 2 * most.bit_length()
    assert seeking.least(lambda number: False, most) is None


def test_pages_are_one_answer(openstack: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = openstack(*SHOW, '-f', 'json').values()
    monkeypatch.setattr(losses, 'PAGE', ('page_limit', '1'))

    assert openstack(*SHOW, '-f', 'json').values() == whole
    assert openstack(*SHOW, '--lose', 'zones', '--buy', 'c3', '-f', 'json').values()['buy'] == 1
