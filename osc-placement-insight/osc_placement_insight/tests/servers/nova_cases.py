# SPDX-License-Identifier: Apache-2.0
"""Audits of a cloud of nova itself; runs in an environment that has nova."""

from __future__ import annotations

import pathlib
import tempfile
import time
from collections.abc import Mapping
from typing import Any

from nova.tests import fixtures as nova_fixtures

from osc_placement_insight.audit import passes, repair, report
from osc_placement_insight.audit.finding import Finding
from osc_placement_insight.audit.journal import Journal
from osc_placement_insight.audit.repair import Repairer
from osc_placement_insight.audit.report import Report
from osc_placement_insight.service import Service
from osc_placement_insight.tests.audit.nova import Migration, Nova, Server, aggregate, flavor
from osc_placement_insight.tests.servers.nova_cloud import HOSTS, CloudOfNova

Allocations = Mapping[str, Mapping[str, int]]


class AuditOfNovaTest(CloudOfNova):
    """Audits of a cloud of three hosts."""

    def setUp(self) -> None:
        super().setUp()
        self.writer = Service(self.placement_client, repair.MICROVERSION)

    def audit(self) -> list[Finding]:
        """Return the findings of an audit."""
        found = passes.audit(self.reader, self.compute_api, lambda doing: None, wait=0)
        return found.findings

    # What is no fault.

    def test_servers_that_run_or_are_moved_or_offloaded_are_no_fault(self) -> None:
        waiting, ended, migrated, offloaded = map(self.server, 'abcd')
        self._resize_server(waiting, self.larger_flavor)
        self._resize_server(ended, self.larger_flavor)
        self._confirm_resize(self.shown(ended))
        self._live_migrate(migrated, 'completed')
        self._shelve_server(offloaded)

        self.assertEqual([], self.audit())

    def test_a_server_that_is_deleted_softly_is_no_fault(self) -> None:
        self.flags(reclaim_instance_interval=3600)
        server = self.server('one')
        self.api.delete_server(server['id'])
        self._wait_for_state_change(server, 'SOFT_DELETED')

        self.assertEqual([], self.audit())

    def test_a_server_that_boots_from_a_volume_is_no_fault(self) -> None:
        volume = {
            'boot_index': 0,
            'uuid': nova_fixtures.CinderFixture.IMAGE_BACKED_VOL,
            'source_type': 'volume',
            'destination_type': 'volume',
        }
        request = {'name': 'one', 'imageRef': '', 'flavorRef': self.flavor, 'networks': 'none'}
        server = self.api.post_server({'server': {**request, 'block_device_mapping_v2': [volume]}})
        self._wait_for_state_change(server, 'ACTIVE')

        self.assertEqual(3, self.held_by(server)['DISK_GB'])
        self.assertEqual([], self.audit())

    def test_an_evacuation_is_no_fault_while_its_host_is_down(self) -> None:
        server = self.server('one')
        source = self.shown(server)['OS-EXT-SRV-ATTR:host']
        self.computes[source].stop()
        service = self.api.get_services(host=source, binary='nova-compute')[0]
        self.admin_api.put_service(service['id'], {'forced_down': True})
        self.api.post_server_action(server['id'], {'evacuate': {}})
        self._wait_for_migration_status(server, ['done'])
        self._wait_for_server_parameter(server, {'OS-EXT-STS:task_state': None})

        self.assertEqual(2, len(self._get_allocations_by_server_uuid(server['id'])))
        self.assertEqual([], self.audit())

    def held_by(self, server: Mapping[str, Any]) -> Mapping[str, int]:
        """Return the amounts of a server on its only host."""
        (held,) = self._get_allocations_by_server_uuid(server['id']).values()
        resources: Mapping[str, int] = held['resources']
        return resources

    # What is a fault.

    def test_faults_are_found_and_mended(self) -> None:
        doubled, misplaced, missing, deleted, migrated = map(self.server, 'abcde')
        self._migrate_server(migrated)
        self._confirm_resize(self.shown(migrated))
        held = self.held_by(doubled)
        self.write(doubled['id'], {self.other_host(doubled): held, self.own_host(doubled): held})
        self.write(misplaced['id'], {self.other_host(misplaced): held})
        self.write(missing['id'], {})
        own = self.own_host(deleted)
        self.api.delete_server(deleted['id'])
        self._wait_until_deleted(deleted)
        # Nova deletes a server before its allocations.
        time.sleep(1)
        self.write(deleted['id'], {own: held})
        (migration,) = self.api.api_get('/os-migrations').body['migrations']
        self.write(migration['uuid'], {self.other_host(migrated): held})

        findings = self.audit()

        self.assertEqual(
            {
                (doubled['id'], 'server-on-several-hosts'),
                (misplaced['id'], 'server-on-another-host'),
                (missing['id'], 'server-without-allocations'),
                (deleted['id'], 'leaked-by-server'),
                (migration['uuid'], 'leaked-by-migration'),
            },
            {(finding.subject, finding.kind) for finding in findings},
        )
        self.mend(findings)
        self.assertEqual([], self.audit())
        for server in (doubled, misplaced, missing, migrated):
            self.assertEqual(held, self.held_by(server))

    def own_host(self, server: Mapping[str, Any]) -> str:
        """The provider of the host that a server runs on."""
        uuid: str = self._get_provider_uuid_by_host(self.shown(server)['OS-EXT-SRV-ATTR:host'])
        return uuid

    def other_host(self, server: Mapping[str, Any]) -> str:
        """The provider of another host."""
        own = self.own_host(server)
        return next(uuid for uuid in map(self._get_provider_uuid_by_host, HOSTS) if uuid != own)

    def write(self, consumer: str, allocations: Allocations) -> None:
        """Make a consumer hold this."""
        now = self.writer.ask(f'/allocations/{consumer}')
        body = {
            'allocations': {one: {'resources': amounts} for one, amounts in allocations.items()},
            'project_id': self.api.project_id,
            'user_id': 'admin',
            'consumer_generation': now.get('consumer_generation'),
        }
        self.writer.send('PUT', f'/allocations/{consumer}', body=body)

    def mend(self, findings: list[Finding]) -> None:
        """Repair all of them, by way of a report."""
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, 'report.yaml')
            found = Report(report.now(), 'here', True, {}, findings)
            path.write_text(report.text(found, as_json=False))
            read = report.read(path)
            with Journal(path.with_suffix('.journal'), read.id) as journal:
                repairer = Repairer(self.writer, self.compute_api, journal)
                results = list(repairer.repair(repair.proposals(read.findings)))
        self.assertEqual({'done'}, {result.event for result in results})
        self.assertEqual(len(findings), len(results))

    # The nova of the other tests.

    def test_the_nova_of_the_other_tests_answers_alike(self) -> None:
        server = self.server('one')
        self._migrate_server(server)
        migration = Migration(server['id'], 'migration', 'finished', 'host1', 'host2')
        alike = {
            '/servers/detail?all_tenants=1': ('servers', Server('', '', flavor(), 'host1').row),
            '/os-migrations?status=finished': ('migrations', migration.row),
            '/os-aggregates': ('aggregates', aggregate('', 'a', 'a', 'host1')),
            '/os-server-groups?all_projects=True&limit=1&offset=0': (
                'server_groups',
                {'policy': 'anti-affinity', 'rules': {}, 'members': []},
            ),
            '/os-hypervisors/detail?limit=1': (
                'hypervisors',
                Nova().hypervisor('', 'host1', is_detailed=True),
            ),
        }
        self.admin_api.post_aggregate({'aggregate': {'name': 'a', 'availability_zone': 'a'}})
        self.api.post_server_groups({'name': 'apart', 'policy': 'anti-affinity', 'rules': {}})
        for path, (member, imitated) in alike.items():
            (real,) = self.compute_api.ask(path)[member]
            self.assertEqual(set(), imitated.keys() - real.keys())
            for name, value in imitated.items():
                if value is not None and real[name] is not None:
                    self.assertIsInstance(real[name], type(value))

    def test_what_nova_refuses_is_known(self) -> None:
        headers = {'OpenStack-API-Version': 'compute 2.69'}
        marker = self.nova.request('/servers/detail?marker=a-marker', 'GET', headers)
        missing = self.nova.request(f'/servers/{self.id()}', 'GET', headers)

        self.assertEqual(400, marker.status_code)
        self.assertEqual(
            {'badRequest': {'code': 400, 'message': 'marker [a-marker] not found'}}, marker.json()
        )
        self.assertEqual(404, missing.status_code)
        self.assertEqual(['itemNotFound'], list(missing.json()))
