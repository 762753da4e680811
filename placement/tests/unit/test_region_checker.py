# SPDX-License-Identifier: Apache-2.0
"""The checker of a region finds what is wrong, and nothing in a record that is right."""

import contextlib
import pathlib
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest

from placement.tests.region import alerts, checker, databases, history, nemesis, services
from placement.tests.region.checker import Calm, Outage
from placement.tests.region.history import Fault, History
from placement.tests.region.record import Operation, Record
from placement.tests.servers import servers

HOLDS = {'c1': {'h': 2}}
FINAL = {'h': {'c1': 2}}
CAPACITIES = {'h': 3}


def write(number: float, status: int, text: str = '', **others: Any) -> Operation:
    """A claim of `c1` that ended after so many seconds."""
    given = {'before': {}, 'after': {'h': 2}, 'request_id': f'req-{number}', **others}
    return Operation('one', 'claim', 'c1', 'balancer', number, number, status, text, **given)


def row(number: int, generation: int, **amounts: int) -> dict[str, Any]:
    """A row of the history, with what consumers hold."""
    allocations = {c: {'resources': {'VCPU': n} if n else {}} for c, n in amounts.items()}
    return {
        'kind': 'provider', 'uuid': 'h', 'generation': generation, 'at': '',
        'global_request_id': f'req-{number}', 'state': {'allocations': allocations},
    }  # fmt: skip


RIGHT: dict[str, Any] = {
    'operations': [
        write(1, 409),
        write(2, 503, 'No worker of the service can be reached at the moment'),
        write(3, 504, 'A change may have been made'),
        write(4, 0),
        write(6, 503, 'The change may have been made', has_retry_after=False),
        write(5, 204),
    ],
    'holds': HOLDS,
    'history': [row(3, 2, c1=1), row(9, 3, c1=0), row(5, 4, c1=2)],
    'capacities': CAPACITIES,
    'final': FINAL,
    'calms': [],
}


def test_a_right_record_has_nothing_wrong() -> None:
    assert list(checker.check(**RIGHT)) == []


def test_a_history_with_gaps_is_not_judged_and_all_else_is() -> None:
    operations = [write(7, 204), write(8, 500)]

    assert list(checker.check(**{**RIGHT, 'operations': operations, 'history': None})) == [
        'claim at balancer is answered 500: '
    ]


@pytest.mark.parametrize(
    ('wrong', 'found'),
    [
        ({'operations': [write(8, 500)]}, 'is answered 500'),
        ({'operations': [write(2, 503, has_retry_after=False)]}, 'has no Retry-After'),
        ({'operations': [write(7, 204)]}, 'answered 204, has no row'),
        ({'operations': [write(5, 409)]}, 'answered 409, has a row'),
        ({'operations': [write(5, 503)]}, 'answered 503, has a row'),
        ({'holds': {}}, "h has {'c1': 2}, and clients know of {}"),
        ({'holds': {'c1': {'h': 1}}}, "and clients know of {'c1': 1}"),
        ({'history': [row(5, 4, c1=2), row(6, 5, c2=2), row(7, 6, c2=0)]}, 'has more than 3'),
        ({'history': [row(3, 2, c1=1), row(5, 2, c1=2)]}, 'has generation 2 after 2'),
        ({'history': [row(5, 2, c1=1)]}, "ends with {'c1': 1}"),
    ],
)
def test_what_is_wrong_is_found(wrong: dict[str, Any], found: str) -> None:
    (line,) = checker.check(**{**RIGHT, **wrong})

    assert found in line


@pytest.mark.parametrize(
    ('before', 'after', 'operation', 'is_right'),
    [
        (None, 1, write(1, 204), True),
        (1, None, write(1, 204), True),
        (1, 2, write(1, 204), True),
        (2, 2, write(1, 204), False),
        (2, 1, write(1, 204), False),
        (1, 1, write(1, 409), True),
        (1, 2, write(1, 409), False),
        (1, 1, write(1, 0), True),
        (1, 2, write(1, 0), True),
        (2, 1, write(1, 0), False),
    ],
)
def test_the_generation_of_a_consumer_grows_with_its_writes_alone(
    before: int | None, after: int | None, operation: Operation, is_right: bool
) -> None:
    assert checker.has_grown(before, after, operation) is is_right


def test_a_calm_is_what_no_fault_may_be_felt_in() -> None:
    faults = [Fault('late', 70, 75), Fault('long', 20, 50), Fault('short', 22, 24)]

    assert checker.calms_between(faults, 99) == [Calm(0, 20), Calm(60, 70), Calm(85, 99)]
    assert checker.calms_between(faults, 80) == [Calm(0, 20), Calm(60, 70)]
    assert checker.calms_between([], 9) == [Calm(0, 9)]
    assert checker.calms_between(faults, 80, 12) == [Calm(12, 20), Calm(60, 70)]


def test_a_history_that_was_kept_is_judged_as_before(tmp_path: pathlib.Path) -> None:
    copied = {'a': dict[str, Any](usages={})}
    stored = {'a': dict[str, Any](usages={'VCPU': 1}, inventories={})}
    record = Record()
    record.compare(stored, stored, copied)
    seen = History(
        {'commit': 'abc'}, 60, [Fault('frozen', 10, 14)], [write(2, 500), write(40, 0)], ['bad'],
        record.comparisons, HOLDS, RIGHT['history'], CAPACITIES, FINAL,
    )  # fmt: skip
    history.write(seen, path := tmp_path / 'run.json.gz')

    assert history.read(path) == seen
    found = checker.judge(history.read(path))
    assert found == checker.judge(seen)
    for wrong in (
        'bad', 'the follower has', 'of VCPU in the database', 'is answered 500',
        'has no answer, without a fault', 'no write was acknowledged for 36.0 s',
    ):  # fmt: skip
        assert [line for line in found if wrong in line], wrong


def test_a_provider_may_be_made_and_deleted_between_two_looks() -> None:
    held = {'a': dict[str, Any](usages={}, inventories={})}
    copied = {**held, 'b': dict[str, Any](usages={}, inventories={})}

    def judged_after(*looks: tuple[Any, Any, Any]) -> list[str]:
        record = Record()
        for look in looks:
            record.compare(*look)
        seen = History({}, 0, [], [], [], record.comparisons, {}, [], {}, {})
        return checker.judge(seen)

    quiet = (held, held, held)
    assert judged_after((held, held, copied), quiet) == []
    # It is still there, was there before, or no client writes any more.
    assert len(judged_after((held, held, copied), (held, held, copied), quiet)) == 1
    assert len(judged_after((copied, held, copied), (held, held, copied), quiet)) == 1
    assert len(judged_after(quiet, (held, held, copied))) == 1


def test_no_write_is_missed_before_the_clients_begin() -> None:
    writes = often('claim', 204, 20, 25, 30)
    seen = History({}, 31, [], [*often('read', 200, 1), *writes], [], [], {}, [], {}, {})

    assert checker.judge(seen) == []
    assert checker.judge(seen._replace(ended=39)) == [
        'no write was acknowledged for 9.0 s without a fault'
    ]


def test_a_number_of_right_writes_bounds_the_share_of_wrong_ones() -> None:
    right = [write(1, 204)] * 300

    assert checker.bound([*right, write(2, 409), write(3, 200, before=None)]) == (301, 3 / 301)
    assert checker.bound([write(2, 409)]) == (0, 1)


def judged(*operations: Operation) -> list[str]:
    """The errors in these operations, in a calm from 10 s to 40 s."""
    given: dict[str, Any] = {'holds': {}, 'history': [], 'capacities': {}, 'final': {}}
    return list(checker.check(operations, calms=[Calm(10, 40)], **given))


def no_change(begun: float, ended: float, status: int, kind: str = 'claim') -> Operation:
    """A write that leaves all as it is, so that the history has no row of it."""
    return Operation('one', kind, 'c1', 'balancer', begun, ended, status)


def often(kind: str, status: int, *seconds: int) -> list[Operation]:
    """A write in each of these seconds."""
    return [no_change(second, second, status, kind) for second in seconds]


def test_a_request_without_an_answer_is_wrong_where_no_fault_explains_it() -> None:
    steady = often('claim', 204, *range(10, 41))

    assert judged(*steady, no_change(9, 12, 0), no_change(39, 41, 0)) == []
    (line,) = judged(*steady, no_change(11, 12, 0))
    assert 'claim at balancer has no answer, without a fault' in line


def test_a_late_answer_is_wrong_where_no_fault_explains_it() -> None:
    steady = often('claim', 204, *range(10, 41))

    assert judged(*steady, no_change(9, 39, 204), no_change(11, 17, 204)) == []
    assert judged(*steady, no_change(11, 19, 204)) == [
        'claim at balancer took 8.0 s without a fault'
    ]
    assert judged(*steady, no_change(11, 19, 200, 'read')) == [
        'read at balancer took 8.0 s without a fault'
    ]


def test_a_busy_machine_may_take_longer_and_no_more() -> None:
    late = [*often('claim', 204, 10, 24, 38), no_change(11, 19, 204)]
    seen = History({}, 40, [], late, [], [], {}, [], {}, {})

    assert checker.judge(seen) == [
        'claim at balancer took 8.0 s without a fault',
        'no write was acknowledged for 9.0 s without a fault',
        'no write was acknowledged for 14.0 s without a fault',
    ]
    assert checker.judge(seen, patience=2) == []
    longer = seen._replace(operations=[*often('claim', 204, 10, 38), no_change(11, 24, 204)])
    assert checker.judge(longer, patience=2) == ['claim at balancer took 13.0 s without a fault']
    assert checker.judge(longer._replace(operations=often('claim', 204, 10, 38)), patience=2) == [
        'no write was acknowledged for 28.0 s without a fault'
    ]


def test_nothing_is_written_for_long_at_most_in_a_fault() -> None:
    assert judged(*often('claim', 204, 18, 26, 34)) == []
    assert judged(*often('claim', 204, 18, 27, 34), *often('read', 200, 20)) == [
        'no write was acknowledged for 9.0 s without a fault'
    ]
    assert judged() == ['no write was acknowledged for 30.0 s without a fault']


def test_one_kind_of_write_is_not_refused_for_ever() -> None:
    steady = often('release', 204, *range(10, 41))

    assert judged(*steady, *often('claim', 409, 12, 14, 20, 25, 38)) == []
    assert judged(*steady, *often('claim', 409, 12, 14, 20, 25, 30, 38)) == [
        'no claim was acknowledged for 30.0 s without a fault'
    ]


def test_a_copy_differs_where_the_database_is_as_it_was_before_it_caught_up() -> None:
    old, new = {'usages': {'VCPU': 1}}, {'usages': {'VCPU': 2}}

    assert list(checker.compared({'a': old}, {'a': new}, {'a': old})) == []
    assert list(checker.compared({'a': old}, {}, {'a': old})) == []
    assert list(checker.compared({'a': new}, {'a': new}, {'a': new})) == []
    for copy in ({'a': old}, {}, {'a': new, 'deleted': old}):
        assert len(list(checker.compared({'a': new}, {'a': new}, copy))) == 1


def test_more_is_used_than_the_database_has_of_it() -> None:
    providers = {
        'a': {'usages': {'VCPU': 2}, 'inventories': {'VCPU': 2}},
        'b': {'usages': {'VCPU': 3}, 'inventories': {'VCPU': 2}},
        'c': {'usages': {'VCPU': 1}, 'inventories': {}},
    }

    assert [line[0] for line in checker.over_committed(providers)] == ['b', 'c']


def test_an_outage_is_the_longest_time_without_an_acknowledged_write() -> None:
    operations = [write(number, 204) for number in (9, 10, 11, 17, 18, 30)] + [write(14, 503)]
    slow = Operation('one', 'claim', 'c1', 'balancer', 10, 16, 204, before={}, after={'h': 1})
    faults = [Fault('frozen', 10, 14), Fault('frozen', 29, 30)]

    others = [
        Operation('two', 'create', 'tree', where, ended - 1, ended, 201, before={}, after={'h': 1})
        for where, ended in (('balancer', 20), ('balancer', 25), ('instance 1', 35))
    ]

    # What an instance answers itself is no outage of the balancer, and trees are not claimed.
    assert checker.outages([*operations, slow, *others], faults) == {
        'frozen': (2, Outage(8, 6), Outage(8, 6))
    }
    late = slow._replace(where='instance 1', begun=11, ended=24)
    ((_times, workload, balancer),) = checker.outages([late, *others], faults[:1]).values()
    assert (workload, balancer) == (Outage(12, 13), Outage(10, 1))


def series(name: str, state: str, *times: int, instance: str = 'c1') -> dict[str, Any]:
    """The times at which an alert was pending or firing, as a series of Prometheus."""
    labels = {'alertname': name, 'alertstate': state, 'instance': instance}
    return {'metric': labels, 'values': [[100 + time, '1'] for time in times]}


def test_an_alert_is_caused_by_the_fault_that_was_there_when_it_became_true() -> None:
    faults = [Fault('killed', 10, 14), Fault('frozen', 30, 38), Fault('killed', 60, 64)]
    found = alerts.by_name(
        [
            # It fires as soon as it was pending for long enough, and counts once.
            series('Down', 'pending', 20, 22, 24),
            series('Down', 'firing', 26, 28, 30),
            series('Down', 'pending', 40, 42, instance='c2'),
            series('Down', 'pending', 62, instance='c2'),
            series('Full', 'pending', 2, 4, 6),
        ],
        100,
        faults,
    )

    assert found == {
        'Down': alerts.Alert(True, ['killed', 'frozen']),
        'Full': alerts.Alert(False, [alerts.WORKLOAD]),
    }


class BrokenOff(servers.Process):
    """A process whose start a signal breaks off."""

    is_stopped = False

    def start(self) -> None:
        raise SystemExit

    def stop(self) -> None:
        self.is_stopped = True


def test_what_a_signal_finds_starting_is_stopped(tmp_path: pathlib.Path) -> None:
    process = BrokenOff(tmp_path / 'log')
    with pytest.raises(SystemExit), contextlib.ExitStack() as stack:
        services.start(stack, process)

    assert process.is_stopped


def test_a_round_has_each_fault_once_and_at_most_one_of_a_database_at_a_time() -> None:
    of_database = {'a node is killed': print, 'a node is frozen': print, 'a node is full': print}
    cluster = SimpleNamespace(faults=lambda _chance: of_database)
    region = cast('services.Region', SimpleNamespace(cluster=cluster))
    sizes = Counter[int]()
    for seed in range(20):
        faults = nemesis.Nemesis(region, Record(), seed, 'is killed|a node|lost').round()
        assert sorted(name for one in faults for name in one) == [
            'a node is frozen', 'a node is full', 'a node is killed', 'a worker is killed',
            'an API instance is killed', 'replies to COMMIT are lost',
            'the load balancer is killed',
        ]  # fmt: skip
        assert all(len(set(of_database) & set(one)) < 2 for one in faults)
        sizes.update(map(len, faults))

    assert set(sizes) == {1, 2}


def test_a_full_disk_is_a_fault_only_where_it_is_asked_for() -> None:
    cluster = SimpleNamespace(faults=lambda _chance: {databases.FULL: print, 'frozen': print})
    region = cast('services.Region', SimpleNamespace(cluster=cluster))

    def of_database(only: str) -> list[str]:
        faults = nemesis.Nemesis(region, Record(), 1, only).round()
        return [name for one in faults for name in one if name in (databases.FULL, 'frozen')]

    assert of_database('') == ['frozen']
    assert of_database('disk') == [databases.FULL]
