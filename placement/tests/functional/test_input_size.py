# SPDX-License-Identifier: Apache-2.0
"""The work of a request grows with what the client sends, and never with its square.

Work is counted in lines of Python that run, which are the same on every machine.
"""

import functools
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import os_traits
import pytest

from placement import routes
from placement.feed.follower import FollowerToken
from placement.feed.position import Position
from placement.microversions import NEWEST
from placement.search.insight import explain
from placement.tests.thorough import THOROUGH

from .fixtures import applications, clouds, valid_requests
from .fixtures.client import Client
from .fixtures.clouds import claim
from .fixtures.work import steps_of

#: Below the bounds on the parts of a query, and far beyond them, which takes much longer.
SIZES = (100, 2_000) if THOROUGH else (100,)
HOST = clouds.uuid_of('host')
CALLER = {'x-auth-token': 'admin', 'x-roles': 'admin,service'}
TOKEN = FollowerToken(Position(1, 1, (1,)), 1, 1).encoded()
STANDARD_TRAITS = sorted(os_traits.get_traits())


class Input(NamedTuple):
    """What a client sends besides the method and the path of the route."""

    query: str = ''
    body: Any = None
    names: Mapping[str, str] = {}
    headers: Mapping[str, str | None] = {}


def some_uuid(number: int) -> str:
    """A uuid of its own for each number."""
    return str(uuid.UUID(int=0xDDDD0000000040008000000000000000 + number))


def repeated(parameter: str, value: Callable[[int], str]) -> Callable[[int], Input]:
    """A query that has a parameter as many times as asked for."""
    return lambda size: Input('&'.join(f'{parameter}={value(n)}' for n in range(size)))


def groups(form: str) -> Callable[[int], Input]:
    """A query with as many parameters as asked for, each of a group of its own."""
    return lambda size: Input(
        'group_policy=none&limit=1&' + '&'.join(form.format(n) for n in range(size))
    )


def listed(prefix: str, value: Callable[[int], str]) -> Callable[[int], Input]:
    """A query with a list of as many values as asked for."""
    return lambda size: Input(prefix + ','.join(value(n) for n in range(size)))


def body(make: Callable[[int], Any]) -> Callable[[int], Input]:
    """A body made for a size."""
    return lambda size: Input(body=make(size))


def long_name(variable: str, first: str) -> Callable[[int], Input]:
    """A variable of the path with as many characters as asked for."""
    return lambda size: Input(names={variable: first + 'A' * size})


def inventories(size: int) -> dict[str, Any]:
    """A body with as many inventories as asked for, of classes that nobody knows."""
    return {
        'resource_provider_generation': 0,
        'inventories': {f'CUSTOM_{n}': {'total': 1} for n in range(size)},
    }


def unknown_members(size: int) -> dict[str, int]:
    """A body with as many members as asked for that no schema knows."""
    return {f'member{n}': n for n in range(size)}


def scenario(steps: list[Any]) -> dict[str, Any]:
    """A body with these steps."""
    return {'query': 'resources=VCPU:1', 'scenario': steps}


def standard_trait(number: int) -> str:
    """One of the standard traits."""
    return STANDARD_TRAITS[number % len(STANDARD_TRAITS)]


def usual_kinds(route: routes.Route) -> dict[str, Callable[[int], Input]]:
    """Return what grows in any request of a kind: variables of a path, a body or a query."""
    kinds = {
        f'a long {variable}': long_name(variable, 'CUSTOM_' if variable == 'name' else '')
        for variable in valid_requests.names(route.path)
    }
    if route.action in valid_requests.BODIES:
        kinds['unknown members'] = body(unknown_members)
    elif not kinds:
        kinds['unknown parameters'] = repeated('pony', str)
    return kinds


#: What every question takes about a search for candidates.
SEARCHES: dict[str, Callable[[int], Input]] = {
    'required of groups': groups('required{}=HW_CPU_X86_AVX'),
    'resources of groups': groups('resources{}=VCPU:1'),
    'resources of groups that are not there': groups('resources{}=SRIOV_NET_VF:1'),
    'member_of of groups': groups(f'member_of{{}}={HOST}'),
    'same_subtree': repeated('resources1=VCPU:1&same_subtree', lambda n: '1'),
    'member_of, repeated': repeated('resources=VCPU:1&member_of', some_uuid),
    'required, repeated': repeated('resources=VCPU:1&required', standard_trait),
    'required, of many': listed('resources=VCPU:1&required=', standard_trait),
    'resources': listed('resources=', lambda n: f'CUSTOM_{n}:1'),
}

#: What only some routes take, beside `usual_kinds`.
INPUTS: dict[str, dict[str, Callable[[int], Input]]] = {
    'resource_classes.list': {'a long version': lambda n: Input(headers={
        'openstack-api-version': 'placement 1.' + '1' * n})},
    'resource_classes.create': {
        'a long name': body(lambda n: {'name': 'CUSTOM_' + 'A' * n}),
    },
    'resource_providers.list': {
        'member_of, repeated': repeated('member_of', some_uuid),
        'member_of, forbidden': repeated('member_of', lambda n: f'!{some_uuid(n)}'),
        'member_of, of many': listed('member_of=in:', some_uuid),
        'required, repeated': repeated('required', standard_trait),
        'required, of many': listed('required=', standard_trait),
        'required, any of many': repeated('required', lambda n: f'in:{standard_trait(n)}'),
        'required, unknown': listed('required=', lambda n: f'CUSTOM_{n}'),
        'resources': listed('resources=', lambda n: f'CUSTOM_{n}:1'),
        'a long name': lambda n: Input('name=' + 'a' * n),
    },
    'resource_providers.create': {
        'a long name': body(lambda n: {'name': 'a' * n}),
        'a deep body': lambda n: Input(body=b'[' * n + b']' * n),
    },
    'inventories.set': {'many classes': body(inventories)},
    'aggregates.set': {
        'many uuids': body(lambda n: {
            'resource_provider_generation': 0, 'aggregates': [some_uuid(m) for m in range(n)]}),
        'things of several types': body(lambda n: {
            'resource_provider_generation': 0, 'aggregates': [None, *range(n)]}),
    },
    'provider_traits.set': {
        'unknown traits': body(lambda n: {
            'resource_provider_generation': 0, 'traits': [f'CUSTOM_{m}' for m in range(n)]}),
        'things of several types': body(lambda n: {
            'resource_provider_generation': 0, 'traits': [None, *range(n)]}),
    },
    'allocations.set_many': {
        'many consumers': body(lambda n: {
            some_uuid(m): claim({HOST: {'VCPU': 1}}) for m in range(n)}),
        'many consumers of an unknown class': body(lambda n: {
            some_uuid(m): claim({HOST: {'CUSTOM_NONE': 1}}) for m in range(n)}),
    },
    'allocations.set': {
        'many providers': body(lambda n: claim({some_uuid(m): {'VCPU': 1} for m in range(n)})),
        'many classes': body(lambda n: claim({HOST: {f'CUSTOM_{m}': 1 for m in range(n)}})),
    },
    'allocation_candidates.list': SEARCHES,
    'traits.list': {
        'names': listed('name=in:', lambda n: f'CUSTOM_{n}'),
        'a long prefix': lambda n: Input('name=startswith:' + '%25' * n),
    },
    'usages.show': {'a long project': lambda n: Input('project_id=' + 'a' * n)},
    'reshaper.reshape': {
        'many providers': body(lambda n: {
            'inventories': {some_uuid(m): inventories(1) for m in range(n)}, 'allocations': {}}),
        'many consumers': body(lambda n: {
            'inventories': {HOST: inventories(1)},
            'allocations': {some_uuid(m): claim({HOST: {'VCPU': 1}}) for m in range(n)}}),
    },
    'insight.unmet_demand': {
        'a long time': lambda n: Input('since=2026-01-01T' + '0' * n),
    },
    'insight.explain': SEARCHES | {
        'a long name': lambda n: Input('resources=VCPU:1&provider=' + 'a' * n),
    },
    'insight.explain_after': {
        'names of providers': body(lambda n: scenario([
            {'remove': [f'host{m}' for m in range(n)]}])),
        'steps': body(lambda n: scenario([
            {'change': {'where': [HOST], 'traits': {'add': [standard_trait(m)]}}}
            for m in range(n // 40)])),
        'more steps than are allowed': body(lambda n: scenario([{'remove': [HOST]}] * 2 * n)),
        'consumers': body(lambda n: scenario([
            {'release': {'consumers': [some_uuid(m) for m in range(n)]}}])),
        'traits': body(lambda n: scenario([
            {'change': {'where': [HOST], 'traits': {'add': [
                f'CUSTOM_{m}' for m in range(n)]}}}])),
        'classes': body(lambda n: scenario([
            {'change': {'where': [HOST], 'inventories': {
                f'CUSTOM_{m}': {'total': 1} for m in range(n)}}}])),
        'copies': body(lambda n: scenario([{'add': {'like': HOST, 'count': min(n, 1_000)}}])),
        'claims': body(lambda n: scenario([
            {'claim': {'query': 'resources=VCPU:1', 'count': n}}])),
    },
    'insight.capacity': SEARCHES,
    'insight.capacities': {
        'many requests': body(lambda n: {
            'requests': {f'request{m}': 'resources=VCPU:1' for m in range(n // 20)}}),
        'more requests than are allowed': body(lambda n: {
            'requests': {f'request{m}': 'resources=VCPU:1' for m in range(n)}}),
        'a long query': body(lambda n: {
            'requests': {'one': 'resources=' + ','.join(f'CUSTOM_{m}:1' for m in range(n))}}),
    },
    'insight.survival': {
        'domains': body(lambda n: {
            'lose': {'domains': {f'rack{m}': [HOST] for m in range(min(n, 1_000))}}}),
        'trees of a domain': body(lambda n: {
            'lose': {'domains': {'rack': [HOST, *(f'host{m}' for m in range(n))]}}}),
        'aggregates': body(lambda n: {
            'lose': {'each': 'aggregate', 'of': [some_uuid(m) for m in range(n)]}}),
        'requests that were asked for': body(lambda n: {
            'lose': {'each': 'root'}, 'requests': {'one': 'resources=VCPU:1'},
            'asked': {'one': [some_uuid(m) for m in range(n)]}}),
        'consumers that are ignored': body(lambda n: {
            'lose': {'each': 'root'}, 'ignore': [some_uuid(m) for m in range(n)]}),
        'consumers that are kept apart': body(lambda n: {
            'lose': {'each': 'root'}, 'apart': [[some_uuid(m) for m in range(n)]]}),
        'lists of consumers that are kept apart': body(lambda n: {
            'lose': {'each': 'root'},
            'apart': [[some_uuid(m), some_uuid(m + 1)] for m in range(min(n, 1_000))]}),
    },
    'insight.drain': {
        'trees': body(lambda n: {'providers': [HOST, *(f'host{m}' for m in range(n))]}),
        'consumers': body(lambda n: {'consumers': [some_uuid(m) for m in range(n)]}),
        'consumers that are kept apart': body(lambda n: {
            'providers': [HOST], 'apart': [[some_uuid(m) for m in range(n)]]}),
    },
    'insight.moves': {
        'moves': body(lambda n: {
            'moves': [{'consumer': some_uuid(m), 'to': HOST} for m in range(n)]}),
        'moves to anywhere': body(lambda n: {
            'requests': {'one': 'resources=VCPU:1'},
            'moves': [
                {'consumer': some_uuid(m), 'to': None, 'request': 'one'} for m in range(n)]}),
        'targets': body(lambda n: {
            'moves': [{'consumer': some_uuid(m), 'to': f'host{m}'} for m in range(n)]}),
    },
    'insight.providers': {
        'include, repeated': repeated('include', lambda n: 'usages'),
        'include, of many': listed('include=', lambda n: 'usages'),
        'member_of, repeated': repeated('member_of', some_uuid),
        'required, of many': listed('required=', standard_trait),
        'resources': listed('resources=', lambda n: f'CUSTOM_{n}:1'),
    },
    'insight.consumers': {
        'a long project': lambda n: Input('project_id=' + 'a' * n),
    },
    'insight.changes': {
        'include, of many': listed(f'since={TOKEN}&include=', lambda n: 'usages'),
        'a long token': lambda n: Input('since=' + 'A' * n),
    },
    'insight.history': {
        'a long time': lambda n: Input('since=2026-01-01T' + '0' * n),
    },
}  # fmt: skip


@pytest.fixture(scope='module')
def client() -> Iterator[Client]:
    """A service with one host that has some room."""
    service = applications.Service(applications.insight_options('on'))
    client = Client(service.application, CALLER)
    clouds.build((clouds.Provider('host', {'VCPU': 4}),), client)
    with pytest.MonkeyPatch.context() as patch:
        # The whole budget takes a quarter of a minute when each line of Python is counted.
        patch.setattr(explain, 'EXPLAIN_BUDGET', explain.EXPLAIN_BUDGET // 20)
        yield client
    service.stop()


def cases() -> Iterator[Any]:
    """Each kind of input of each route, at each size."""
    for route in {route.action: route for route in routes.ROUTES}.values():
        for kind, make in (usual_kinds(route) | INPUTS.get(route.action, {})).items():
            for size in SIZES:
                yield pytest.param(route, make, size, id=f'{route.action}, {kind}, {size}')


@pytest.mark.parametrize(('route', 'make', 'size'), list(cases()))
def test_twice_the_input_is_at_most_three_times_the_work(
    client: Client, route: routes.Route, make: Callable[[int], Input], size: int
) -> None:
    def send(size: int) -> int:
        sent = make(size)
        names = {'uuid': HOST, 'consumer_uuid': HOST, 'resource_class': 'VCPU', 'name': 'A'}
        path = route.path.format(**{**names, **sent.names})
        query = f'?{sent.query}' if sent.query else ''
        answer = client.send(route.method, path + query, sent.body, NEWEST, sent.headers)
        assert answer.status < 500, answer.text
        return answer.status

    # What is compiled or kept at the first time is there at the second. What refuses the larger
    # input at once is as good as what does little.
    send(size)
    send(2 * size)
    once, twice = (steps_of(functools.partial(send, n)) for n in (size, 2 * size))

    assert twice <= 3 * once, f'{once} steps become {twice}'
