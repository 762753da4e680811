# SPDX-License-Identifier: Apache-2.0
"""`openstack placement history list`."""

import csv
import json
import re

import pytest

from osc_placement_insight.tests.client import Client
from osc_placement_insight.tests.clouds import Cloud
from osc_placement_insight.tests.conftest import Service

LIST = ('placement', 'history', 'list')
SERVER = 'd1000000-0000-4000-8000-000000000001'
REQUEST = 'req-51000000-0000-4000-8000-000000000001'


@pytest.fixture(autouse=True)
def host(service: Service) -> str:
    """The uuid of a host on which nova has put a server, and removed it."""
    cloud = Cloud(service)
    host = cloud.provider('compute1', {'VCPU': 16}, ('CUSTOM_SSD',))
    cloud.claim(SERVER, {host: {'VCPU': 12}}, 'INSTANCE', X_Openstack_Request_Id=REQUEST)
    cloud.send('DELETE', f'/allocations/{SERVER}')
    return host


def shown(openstack: Client, *arguments: str) -> list[str]:
    """The text, without what is different each time."""
    text = openstack(*LIST, *arguments).out
    text = re.sub(r'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ', 'TIME', text, flags=re.MULTILINE)
    return re.sub('(log of the service req-).*', r'\1', text).splitlines()


def test_text_shows_who_did_what_with_the_state_afterwards(openstack: Client, host: str) -> None:
    assert shown(openstack, '--request', REQUEST) == [
        'TIME  allocations.set  by admin of project admin',
        f'  request {REQUEST}',
        '  in the log of the service req-',
        f'  provider {host} (project demo, user alice)',
        f'    {SERVER}: VCPU 12',
        f'  consumer {SERVER} (project demo, user alice)',
        f'    {host}: VCPU 12',
        '    consumer_type: INSTANCE',
    ]


def test_what_a_consumer_holds_no_more_is_told(openstack: Client) -> None:
    lines = shown(openstack, '--consumer', SERVER)

    assert lines[0] == 'TIME  allocations.delete  by admin of project admin'
    assert '    is gone' in lines


def test_changes_of_a_provider_are_listed_by_its_name_or_uuid(
    openstack: Client, host: str
) -> None:
    lines = shown(openstack, '--provider', 'compute1')

    assert lines == shown(openstack, '--provider', host)
    assert '    traits: CUSTOM_SSD' in lines
    assert '    name: compute1' in lines
    assert max(map(len, lines)) <= 80


def test_rows_of_a_table_are_what_was_touched(openstack: Client, host: str) -> None:
    provider, consumer = csv.DictReader(
        openstack(*LIST, '--request', REQUEST, '-f', 'csv').lines()
    )

    columns = ('action', 'kind', 'uuid', 'global_request_id', 'project_id')
    owned = (REQUEST, 'demo')
    assert [provider[name] for name in columns] == ['allocations.set', 'provider', host, *owned]
    assert [consumer[name] for name in columns] == ['allocations.set', 'consumer', SERVER, *owned]
    # What is no text is JSON.
    assert json.loads(consumer['state'])['consumer_type'] == 'INSTANCE'


def test_so_many_rows_are_listed_across_pages(
    openstack: Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = openstack(*LIST, '--limit', '0', '-f', 'json').values()['history']
    monkeypatch.setattr('osc_placement_insight.commands.history.LARGEST_PAGE', 2)

    assert openstack(*LIST, '--limit', '0', '-f', 'json').values()['history'] == whole
    assert openstack(*LIST, '--limit', '3', '-f', 'json').values()['history'] == whole[:3]


def test_only_changes_since_a_time_are_listed(openstack: Client) -> None:
    found = openstack(*LIST, '--since', '2100-01-01', '-f', 'json').values()

    assert found == {'history': []}


def test_a_request_of_the_log_of_the_service_is_found(openstack: Client) -> None:
    first = openstack(*LIST, '--request', REQUEST, '-f', 'json').values()['history'][0]
    identity = first['request_id']
    rows = openstack(*LIST, '--service-request', identity, '-f', 'json').values()['history']

    assert {row['request_id'] for row in rows} == {identity}
