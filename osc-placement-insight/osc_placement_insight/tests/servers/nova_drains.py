# SPDX-License-Identifier: Apache-2.0
"""Drains of a host of nova itself, by the commands that are printed; runs in an environment that
has nova."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from osc_placement_insight.tests.servers.nova_cloud import CloudOfNova
from osc_placement_insight.what_if import command_lines
from osc_placement_insight.what_if.chosen import choose_hosts
from osc_placement_insight.what_if.draining import Drain, drain


class DrainOfNovaTest(CloudOfNova):
    """A drain of host1, whose servers go to host2 and host3."""

    def setUp(self) -> None:
        super().setUp()
        for zone, hosts in (('az1', ('host1', 'host2')), ('az2', ('host3',))):
            aggregate = self.admin_api.post_aggregate(
                {'aggregate': {'name': zone, 'availability_zone': zone}}
            )
            for host in hosts:
                self.admin_api.add_host_to_aggregate(aggregate['id'], host)
        group = {'name': 'apart', 'policy': 'anti-affinity', 'rules': {}}
        self.group = self.api.post_server_groups(group)['id']

    def server_on(self, host: str, zone: str | None = None, **hints: str) -> dict[str, Any]:
        """A new server that runs on a host, to stay in a zone if one is named."""
        body = self._build_server(flavor_id=self.flavor, networks='none', az=zone, host=host)
        request = {'server': body, **({'os:scheduler_hints': hints} if hints else {})}
        made: dict[str, Any] = self.admin_api.post_server(request)
        self._wait_for_state_change(made, 'ACTIVE')
        return made

    def planned(self) -> Drain:
        """The plan for host1 to be empty."""
        return drain(self.reader, self.compute_api, choose_hosts(self.reader, [['host1']]))

    def commands(self, planned: Drain) -> list[list[str]]:
        """The words of each command that is printed."""
        assert planned.cloud is not None
        chosen = choose_hosts(self.reader, [['host1']])
        lines = command_lines.lines(planned.plan, planned.cloud, chosen.roots)
        return [words for words in (shlex.split(line, comments=True) for line in lines) if words]

    def run_command(self, words: Sequence[str]) -> None:
        """What the client of nova would send."""
        match words[1:]:
            case ['compute', 'service', 'set', '--disable', '--disable-reason', why, host, binary]:
                (service,) = self.admin_api.get_services(host=host, binary=binary)
                change = {'status': 'disabled', 'disabled_reason': why}
                self.admin_api.put_service(service['id'], change)
            case [_, '2.30', 'server', 'migrate', '--live-migration', '--host', host, _, uuid]:
                self._live_migrate({'id': uuid}, 'completed', api=self.admin_api, host=host)
            case [_, '2.56', 'server', 'migrate', '--host', host, '--wait', uuid]:
                self._migrate_server({'id': uuid}, host, api=self.admin_api)
            case ['server', 'migration', 'confirm', uuid]:
                self.api.post_server_action(uuid, {'confirmResize': None})
                self._wait_for_state_change({'id': uuid}, 'SHUTOFF')
            case _:
                raise AssertionError(words)

    def held(self, uuid: str) -> Mapping[str, Mapping[str, int]]:
        """What a server holds, by provider."""
        allocations = self._get_allocations_by_server_uuid(uuid)
        return {one: row['resources'] for one, row in allocations.items()}

    def test_a_host_is_empty_after_the_commands(self) -> None:
        live, pinned = self.server_on('host1'), self.server_on('host1', 'az1')
        apart = [self.server_on(host, group=self.group) for host in ('host1', 'host2')]
        stopped, locked = self.server_on('host1'), self.server_on('host1')
        self._stop_server(stopped)
        self.api.post_server_action(locked['id'], {'lock': {}})
        planned = self.planned()
        self.assertEqual((5, 0), (len(planned.plan.moves), len(planned.plan.unplaced)))
        self.assertEqual({'request'}, {row['known'] for row in planned.plan.answer['moves']})
        to = {move.uuid: move.to['name'] for move in planned.plan.moves if move.to}
        self.assertEqual('host2', to[pinned['id']])
        self.assertEqual('host3', to[apart[0]['id']])

        commands = self.commands(planned)
        self.assertEqual(1 + 3 + 2, len(commands))
        for words in commands:
            self.run_command(words)

        for row in planned.plan.answer['moves']:
            uuid, goal = row['consumer'], row['to']['name']
            if uuid == locked['id']:
                goal = 'host1'
            else:
                wanted = {one: part['resources'] for one, part in row['allocations'].items()}
                self.assertEqual(wanted, self.held(uuid))
            self.assertEqual(goal, self.api.get_server(uuid)['OS-EXT-SRV-ATTR:host'])
        self.assertEqual({live['id'], stopped['id']}, {*to} & {live['id'], stopped['id']})
        self.assertEqual([locked['id']], [move.uuid for move in self.planned().plan.moves])

    def test_nova_finds_no_host_either_for_who_finds_no_place(self) -> None:
        unplaced = self.server_on('host1', 'az1', group=self.group)
        self.server_on('host2', group=self.group)
        planned = self.planned()

        self.assertEqual([unplaced['id']], [move.uuid for move in planned.plan.unplaced])
        self.assertEqual(1, len(self.commands(planned)))
        self.admin_api.post_server_action(unplaced['id'], {'migrate': None})
        self._assert_resize_migrate_action_fail(unplaced, 'migrate', 'NoValidHost')
