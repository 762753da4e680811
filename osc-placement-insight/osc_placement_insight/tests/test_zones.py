# SPDX-License-Identifier: Apache-2.0
"""Aggregates by the names that the service has for them, without nova."""

import shlex
from collections.abc import Iterator

import pytest

from osc_placement_insight.tests.client import Client
from osc_placement_insight.tests.clouds import Cloud
from osc_placement_insight.tests.conftest import Service

AZ1, AZ2 = (f'a{number}000000-0000-4000-8000-000000000001' for number in (1, 2))


@pytest.fixture(scope='module')
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Two hosts in az1, of which one is full, and one in az2."""
    names = tmp_path_factory.mktemp('names') / 'aggregates.yaml'
    names.write_text(f'{AZ1}: az1\n{AZ2}: az2\n')
    with Service({('metrics', 'aggregate_names_file'): str(names)}) as service:
        cloud = Cloud(service)
        first = cloud.provider('c1', {'VCPU': 8}, aggregates=(AZ1,))
        cloud.provider('c2', {'VCPU': 8}, aggregates=(AZ1,))
        cloud.provider('c3', {'VCPU': 4}, aggregates=(AZ2,))
        cloud.claim('d1000000-0000-4000-8000-000000000001', {first: {'VCPU': 8}}, 'INSTANCE')
        yield service


def test_a_request_names_its_zones(openstack: Client) -> None:
    command = 'placement capacity show --resource VCPU=1 --member-of {} -f json'
    counts = {
        zone: openstack(*shlex.split(command.format(zone))).values()['now']['at_least']
        for zone in ('az1', 'az2', 'az1,az2', AZ1)
    }
    assert counts == {'az1': 8, 'az2': 4, 'az1,az2': 12, AZ1: 8}
    explained = openstack(
        'placement', 'explain', '--resource', 'VCPU=5', '--member-of', 'az2', '-f', 'json'
    ).values()
    assert explained['verdict'] == 'infeasible'


def test_a_drain_and_losses_name_zones_without_nova(openstack: Client) -> None:
    drained = openstack('placement', 'drain', 'plan', '@az2', '--without-nova', '-f', 'json')
    assert drained.values()['moves'] == []
    lost = openstack(
        'placement', 'survival', 'show', '--lose', 'zones', '--without-nova', '-f', 'value',
        '-c', 'domain', '-c', 'survives',
    )  # fmt: skip
    # What fails comes first.
    assert (lost.status, lost.out.splitlines()) == (2, ['az1 False', 'az2 True'])
    lost = openstack('placement', 'survival', 'show', '--lose', '@az2', '--without-nova')
    assert lost.status == 0


def test_a_zone_that_nobody_knows_is_told(openstack: Client) -> None:
    asked = ('placement', 'explain', '--resource', 'VCPU=1', '--member-of', 'az9')
    assert 'nova' in openstack(*asked).refusal()
