# SPDX-License-Identifier: Apache-2.0
"""`openstack placement change list`."""

import csv
import dataclasses
import json
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
import requests
import yaml

from osc_placement_insight.commands import changes
from osc_placement_insight.tests.client import Client, Printed
from osc_placement_insight.tests.clouds import Cloud
from osc_placement_insight.tests.conftest import Service
from placement.feed.follower_token import FollowerToken

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
    return dataclasses.replace(known, position=position).encoded()


def test_the_first_time_only_the_token_is_told(openstack: Client, cloud: Cloud) -> None:
    printed = openstack(*LIST, '-f', 'json')

    assert json.loads(printed.out) == []
    assert token(printed)


def test_what_changed_since_is_listed_with_the_next_token(openstack: Client, cloud: Cloud) -> None:
    begin = token(openstack(*LIST))
    new = cloud.provider('new', {'VCPU': 8})
    old = cloud.send('GET', '/resource_providers?name=old')['resource_providers'][0]
    cloud.send('DELETE', f'/resource_providers/{old["uuid"]}')
    printed = openstack(*LIST, '--since', begin, '-f', 'json')

    assert json.loads(printed.out) == [
        {'change': 'changed', 'uuid': new, 'name': 'new', 'generation': 2},
        {'change': 'deleted', 'uuid': old['uuid'], 'name': None, 'generation': None},
    ]
    assert json.loads(openstack(*LIST, '--since', token(printed), '-f', 'json').out) == []


@pytest.mark.parametrize('since', ['1h', '3600s', '60m'])
def test_what_changed_in_the_last_hour_is_listed(
    openstack: Client, cloud: Cloud, since: str
) -> None:
    gone = cloud.provider('gone', {})
    cloud.send('DELETE', f'/resource_providers/{gone}')
    printed = openstack(*LIST, '--since', since, '-f', 'value', '-c', 'change', '-c', 'name')

    assert printed.out.splitlines() == ['changed old', 'deleted None']
    assert openstack(*LIST, '--since', token(printed), '-f', 'value').out == ''


def test_changes_since_a_time_of_the_future_are_none(openstack: Client, cloud: Cloud) -> None:
    assert openstack(*LIST, '--since', '2100-01-01', '-f', 'value').out == ''


def test_members_are_shown_as_they_are_now(openstack: Client, cloud: Cloud) -> None:
    begin = token(openstack(*LIST))
    uuid = cloud.provider('new', {'VCPU': 8})
    cloud.claim('d1000000-0000-4000-8000-000000000001', {uuid: {'VCPU': 3}})
    included = (*LIST, '--since', begin, '--include', 'usages,traits')

    (row,) = json.loads(openstack(*included, '-f', 'json').out)
    assert (row['usages'], row['traits']) == ({'VCPU': 3}, [])
    assert yaml.safe_load(openstack(*included, '-f', 'yaml').out) == [row]


def test_formats_of_text_alone_show_members_as_json(openstack: Client, cloud: Cloud) -> None:
    begin = token(openstack(*LIST))
    uuid = cloud.provider('new', {'VCPU': 8}, traits=('CUSTOM_A', 'CUSTOM_B'))
    cloud.claim('d1000000-0000-4000-8000-000000000001', {uuid: {'VCPU': 3}})
    included = (*LIST, '--since', begin, '--include', 'usages,traits')

    (row,) = csv.DictReader(openstack(*included, '-f', 'csv').out.splitlines())
    assert json.loads(row['usages']) == {'VCPU': 3}
    assert json.loads(row['traits']) == ['CUSTOM_A', 'CUSTOM_B']
    assert openstack(*included, '-f', 'value', '-c', 'usages').out == '{"VCPU": 3}\n'
    assert '| CUSTOM_A, CUSTOM_B |' in openstack(*included).out


class Interrupted:
    """A `time.sleep` of a follower: each step once, then Ctrl-C."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        self._steps = iter(steps)

    def __call__(self, seconds: float) -> None:
        step = next(self._steps, None)
        if step is None:
            raise KeyboardInterrupt
        step()


@pytest.mark.parametrize(
    ('format_name', 'parsed'),
    [
        ('json', lambda text: [json.loads(line) for line in text.splitlines()]),
        ('yaml', yaml.safe_load),
        ('csv', lambda text: [*csv.DictReader(text.splitlines())]),
        ('value', lambda text: [line.split() for line in text.splitlines()]),
        ('table', lambda text: [line.split() for line in text.splitlines()]),
    ],
)
def test_a_follower_prints_each_change_until_it_is_interrupted(
    openstack: Client,
    cloud: Cloud,
    monkeypatch: pytest.MonkeyPatch,
    format_name: str,
    parsed: Callable[[str], list[dict[str, object]]],
) -> None:
    made: list[str] = []
    steps = [lambda name=name: made.append(cloud.provider(name, {'VCPU': 1})) for name in 'ab']
    monkeypatch.setattr(time, 'sleep', Interrupted(*steps))
    printed = openstack(*LIST, '--follow', '-f', format_name)

    assert printed.status == 130
    assert 'Traceback' not in printed.err
    rows = parsed(printed.out)
    shown = [row if isinstance(row, list) else [*map(str, row.values())] for row in rows]
    assert shown == [['changed', made[0], 'a', '2'], ['changed', made[1], 'b', '2']]


@pytest.mark.parametrize('format_name', ['value', 'table'])
def test_a_follower_shows_members_as_json_where_a_format_has_text_alone(
    openstack: Client, cloud: Cloud, monkeypatch: pytest.MonkeyPatch, format_name: str
) -> None:
    monkeypatch.setattr(time, 'sleep', Interrupted(lambda: cloud.provider('new', {'VCPU': 1})))
    followed = (*LIST, '--follow', '--include', 'usages', '-f', format_name, '-c', 'usages')

    assert openstack(*followed).out == '{"VCPU": 0}\n'


def test_a_follower_that_missed_changes_says_so_and_goes_on(
    openstack: Client, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = of_another_database(token(openstack(*LIST)))
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


def test_a_token_of_another_cloud_is_told(openstack: Client, cloud: Cloud) -> None:
    foreign = of_another_database(token(openstack(*LIST)))
    refusal = openstack(*LIST, '--since', foreign).refusal()

    assert refusal == changes.MISSED
