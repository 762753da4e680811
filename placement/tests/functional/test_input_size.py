# SPDX-License-Identifier: Apache-2.0
"""The work of a request grows with what the client sends, and never with its square.

Work is counted in lines of Python that run, and in comparisons of the texts of a client: both are
the same on every machine.
"""

import functools
import itertools
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import os_traits
import pytest
import sqlalchemy as sa

from placement import routes
from placement.db.schema import tables
from placement.feed.position import Position
from placement.http import request as http_request
from placement.http.querystring import Query
from placement.microversions import NEWEST
from placement.routes import installed_surface
from placement.tests.thorough import THOROUGH
from placement_insight.bulk.follower import FollowerToken
from placement_insight.search import explain

from .fixtures import applications, clouds, valid_requests
from .fixtures.client import Client
from .fixtures.clouds import claim
from .fixtures.work import Counted, comparisons_of, counted, steps_of

#: Below the bounds on the parts of a query, and far beyond them, which takes much longer.
SIZES = (100, 1_200) if THOROUGH else (100,)
# Questions that place each consumer of the cloud. They come first, while there are few: with those
# of large claims each takes minutes, since each line of Python is counted.
OF_ALL_CONSUMERS = {'insight.survival', 'insight.drain', 'insight.moves'}
HOST = clouds.uuid_of('host')
CALLER = {'x-auth-token': 'admin', 'x-roles': 'admin,service'}
TOKEN = FollowerToken(Position(1, 1, (1,)), 1, 1).encoded()
NUMBERS = itertools.count()
STANDARD_TRAITS = sorted(os_traits.get_traits())


class Input(NamedTuple):
    """The query, body, path variables and headers of a request, and the expected status."""

    query: str = ''
    body: Any = None
    names: Mapping[str, str] = {}
    headers: Mapping[str, str | None] = {}
    #: None where any answer will do but a failure of the service.
    status: int | None = None


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
    """A body with a number of inventories of unknown classes."""
    return {
        'resource_provider_generation': 0,
        'inventories': {f'CUSTOM_{n}': {'total': 1} for n in range(size)},
    }


def unknown_members(size: int) -> dict[str, int]:
    """A body with as many members as asked for that no schema knows."""
    return {f'member{n}': n for n in range(size)}


def new_consumer() -> dict[str, str]:
    """The variable of a path with a consumer of its own."""
    return {'consumer_uuid': some_uuid(10_000_000 + next(NUMBERS))}


def claims_of(size: int) -> dict[str, Any]:
    """Claims for this many new consumers, each on an existing provider."""
    return {
        some_uuid(20_000_000 + next(NUMBERS)): claim({existing(n): {'VCPU': 1}})
        for n in range(size)
    }


def reshape_of(size: int) -> dict[str, Any]:
    """A reshape of as many providers as asked for, all of which exist, whose generation is old."""
    return {
        'inventories': {existing(n): inventories(1) for n in range(size)},
        'allocations': claims_of(size),
    }


def scenario(steps: list[Any]) -> dict[str, Any]:
    """A body with these steps."""
    return {'query': 'resources=VCPU:1', 'scenario': steps}


def existing(number: int) -> str:
    """The uuid of one of the providers that exist."""
    return some_uuid(30_000_000 + number)


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

#: Inputs of single routes, in addition to `usual_kinds`.
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
        'many consumers of providers that exist': lambda n: Input(body=claims_of(n), status=204),
        'many consumers of an unknown class': body(lambda n: {
            some_uuid(m): claim({HOST: {'CUSTOM_NONE': 1}}) for m in range(n)}),
    },
    'allocations.set': {
        'many providers': body(lambda n: claim({some_uuid(m): {'VCPU': 1} for m in range(n)})),
        'many providers that exist': lambda n: Input(
            body=claim({existing(m): {'VCPU': 1} for m in range(n)}),
            names=new_consumer(), status=204),
        'many classes of many providers': lambda n: Input(
            body=claim({existing(m): {'VCPU': 1, f'CUSTOM_OWN_{m}': 1} for m in range(n)}),
            names=new_consumer(), status=204),
        'many classes': body(lambda n: claim({HOST: {f'CUSTOM_{m}': 1 for m in range(n)}})),
    },
    'allocation_candidates.list': SEARCHES,
    'traits.list': {
        'names': listed('name=in:', lambda n: f'CUSTOM_{n}'),
        'names that exist': listed('name=in:', standard_trait),
        'a long prefix': lambda n: Input('name=startswith:' + '%25' * n),
    },
    'usages.show': {'a long project': lambda n: Input('project_id=' + 'a' * n)},
    'reshaper.reshape': {
        'many providers that exist': body(reshape_of),
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
    'insight.set_promise': {
        'a long request': lambda n: Input(body={'request': 'x' * n, 'count': 1}),
        'groups': lambda n: Input(body={
            'count': 1,
            'request': '&'.join(
                [f'resources{m}=VCPU:1' for m in range(n // 20)] + ['group_policy=none']),
        }),
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


def insert_providers(engine: sa.Engine, count: int) -> None:
    """Insert as many classes, and providers that have VCPU, one of fifty of these classes, and one
    of their own.

    A question looks at each kind of provider that has a class it names; there are fifty.
    """
    ids = range(1_000, 1_000 + count)
    uuids = [existing(number) for number in range(count)]
    units = {'reserved': 0, 'min_unit': 1, 'max_unit': 9, 'step_size': 1, 'allocation_ratio': 1}
    with engine.begin() as connection:
        connection.execute(
            sa.insert(tables.resource_providers),
            [
                {'id': row_id, 'uuid': uuid, 'name': uuid, 'root_provider_id': row_id}
                for row_id, uuid in zip(ids, uuids, strict=True)
            ],
        )
        connection.execute(
            sa.insert(tables.resource_classes),
            [
                {'id': first + n, 'name': f'{name}{n}'}
                for first, name in ((10_000, 'CUSTOM_'), (20_000, 'CUSTOM_OWN_'))
                for n in range(count)
            ],
        )
        connection.execute(
            sa.insert(tables.inventories),
            [
                {
                    'resource_provider_id': row_id,
                    'resource_class_id': class_id,
                    'total': 1_000_000,
                    **units,
                }
                for number, row_id in enumerate(ids)
                for class_id in (0, 10_000 + number % 50, 20_000 + number)
            ],
        )


def counted_query(parameters: Iterable[tuple[str, str]]) -> Query:
    """A query whose values count their comparisons."""
    return Query([(name, Counted(value)) for name, value in parameters])


@pytest.fixture(scope='module')
def client() -> Iterator[Client]:
    """A service with one host that has some room."""
    service = applications.Service(applications.insight_options('on'))
    client = Client(service.application, CALLER)
    clouds.build((clouds.Provider('host', {'VCPU': 4}),), client)
    insert_providers(service.engine, 2 * max(SIZES))
    with pytest.MonkeyPatch.context() as patch:
        parse_json = http_request.parse_json
        patch.setattr(http_request, 'parse_json', lambda text: counted(parse_json(text)))
        patch.setattr(http_request, 'Query', counted_query)
        # The whole budget takes a quarter of a minute when each line of Python is counted.
        patch.setattr(explain, 'EXPLAIN_BUDGET', explain.EXPLAIN_BUDGET // 20)
        yield client
    service.stop()


def cases() -> Iterator[Any]:
    """Each kind of input of each route, at each size."""
    by_action = {route.action: route for route in installed_surface().routes}
    for route in sorted(by_action.values(), key=lambda one: one.action not in OF_ALL_CONSUMERS):
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
        assert sent.status in (None, answer.status), answer.text
        return answer.status

    # What is compiled or kept at the first time is there at the second. What refuses the larger
    # input at once is as good as what does little.
    send(size)
    send(2 * size)
    once, twice = (steps_of(functools.partial(send, n)) for n in (size, 2 * size))

    assert twice <= 3 * once, f'{once} steps become {twice}'

    few, many = (comparisons_of(functools.partial(send, n)) for n in (size, 2 * size))

    assert many <= 3 * few + 2 * size, f'{few} comparisons become {many}'
