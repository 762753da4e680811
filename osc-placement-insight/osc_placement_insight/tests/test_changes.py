# SPDX-License-Identifier: Apache-2.0
"""`openstack placement change list`."""

import dataclasses
import json
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
import requests

from osc_placement_insight.commands import changes
from osc_placement_insight.tests.client import Client, Printed
from osc_placement_insight.tests.clouds import Cloud
from osc_placement_insight.tests.conftest import Service
from placement_insight.bulk.follower import FollowerToken

LIST = ('placement', 'change', 'list')


@pytest.fixture
def cloud(service: Service) -> Cloud:
    """A cloud of one host."""
    cloud = Cloud(service)
    cloud.provider('old', {'VCPU': 16})
    return cloud


def token(printed: Printed) -> str:
    """Return the token for the next time."""
    assert printed.status == 0, printed.err
    (found,) = re.findall(r'^For what changes from now on: --since (\S+)$', printed.err, re.M)
    return str(found)


def of_another_database(token: str) -> str:
    """The token of a database whose change feed has another entry at this place."""
    known = FollowerToken.decoded(token)
    position = dataclasses.replace(known.position, token=known.position.token ^ 1)
    return known._replace(position=position).encoded()


def listed(openstack: Client, *options: str) -> list[dict[str, Any]]:
    """Return the changes as JSON has them."""
    rows: list[dict[str, Any]] = json.loads(openstack(*LIST, *options, '-f', 'json').out)
    return rows


def test_what_changed_since_is_listed_with_the_next_token(openstack: Client, cloud: Cloud) -> None:
    # The first time nothing but the token is told.
    printed = openstack(*LIST, '-f', 'value')
    assert printed.out == ''
    new = cloud.provider('new', {'VCPU': 8})
    old = cloud.send('GET', '/resource_providers?name=old')['resource_providers'][0]
    cloud.send('DELETE', f'/resource_providers/{old["uuid"]}')
    printed = openstack(*LIST, '--since', token(printed), '-f', 'json')

    rows = json.loads(printed.out)
    # When it was read: of when it happened the service says nothing.
    times = [row.pop('seen_at') for row in rows]
    assert all(re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ', one) for one in times)
    assert rows == [
        {'change': 'changed', 'uuid': new, 'name': 'new', 'generation': 2},
        {'change': 'deleted', 'uuid': old['uuid'], 'name': None, 'generation': None},
    ]
    assert listed(openstack, '--since', token(printed)) == []


@pytest.mark.parametrize('since', ['1h', '3600s', '60m'])
def test_what_changed_in_the_last_hour_is_listed(
    openstack: Client, cloud: Cloud, since: str
) -> None:
    gone = cloud.provider('gone', {})
    cloud.send('DELETE', f'/resource_providers/{gone}')

    rows = listed(openstack, '--since', since)
    assert [(row['change'], row['name']) for row in rows] == [
        ('changed', 'old'),
        ('deleted', None),
    ]
    assert listed(openstack, '--since', '2100-01-01') == []


def test_members_are_shown_as_they_are_now(openstack: Client, cloud: Cloud) -> None:
    uuid = cloud.provider('new', {'VCPU': 8}, traits=('CUSTOM_A', 'CUSTOM_B'))
    cloud.claim('d1000000-0000-4000-8000-000000000001', {uuid: {'VCPU': 3}})
    included = ('--since', '1h', '--include', 'usages,traits')

    (row,) = (row for row in listed(openstack, *included) if row['uuid'] == uuid)
    assert (row['usages'], row['traits']) == ({'VCPU': 3}, ['CUSTOM_A', 'CUSTOM_B'])
    assert '| CUSTOM_A, CUSTOM_B |' in openstack(*LIST, *included).out


class Interrupted:
    """A `time.sleep` of a follower: each step once, then Ctrl-C."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        self._steps = iter(steps)

    def __call__(self, seconds: float) -> None:
        step = next(self._steps, None)
        if step is None:
            raise KeyboardInterrupt
        step()


def test_a_follower_prints_each_change_until_it_is_interrupted(
    openstack: Client, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [lambda name=name: cloud.provider(name, {'VCPU': 1}) for name in 'ab']
    monkeypatch.setattr(time, 'sleep', Interrupted(*steps))
    columns = ('-c', 'change', '-c', 'name', '-c', 'usages')
    printed = openstack(*LIST, '--follow', '--include', 'usages', '-f', 'value', *columns)

    assert printed.status == 130
    assert 'Traceback' not in printed.err
    assert printed.out.splitlines() == ['changed a {"VCPU": 0}', 'changed b {"VCPU": 0}']


def test_a_follower_that_missed_changes_says_so_and_goes_on(
    openstack: Client, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = of_another_database(token(openstack(*LIST)))
    assert openstack(*LIST, '--since', foreign).refusal() == changes.MISSED
    monkeypatch.setattr(time, 'sleep', Interrupted(lambda: cloud.provider('new', {'VCPU': 1})))
    printed = openstack(*LIST, '--follow', '--since', foreign, '-f', 'value', '-c', 'name')

    assert 'The service cannot tell any more what changed since then' in printed.err
    assert 'Following from now on.' in printed.err
    assert printed.out.splitlines() == ['new']


def unreachable(*_arguments: object, **_options: object) -> None:
    raise requests.exceptions.ConnectionError('refused')


def busy(_session: object, request: requests.PreparedRequest, **_options: object) -> Any:
    response = requests.Response()
    response.request, response.url, response.status_code = request, str(request.url), 503
    return response


@pytest.mark.parametrize('outage', [unreachable, busy])
def test_a_follower_goes_on_after_the_service_was_away(
    openstack: Client,
    cloud: Cloud,
    monkeypatch: pytest.MonkeyPatch,
    outage: Callable[..., Any],
) -> None:
    send = requests.Session.send
    steps = (
        lambda: cloud.provider('before', {'VCPU': 1}),
        lambda: monkeypatch.setattr(requests.Session, 'send', outage),
        lambda: None,
        lambda: monkeypatch.setattr(requests.Session, 'send', send),
        lambda: cloud.provider('after', {'VCPU': 1}),
    )
    monkeypatch.setattr(time, 'sleep', Interrupted(*steps))
    printed = openstack(*LIST, '--follow', '-f', 'value', '-c', 'name')

    assert printed.out.splitlines() == ['before', 'after']
    assert printed.err.count('Trying again until it answers.') == 1
