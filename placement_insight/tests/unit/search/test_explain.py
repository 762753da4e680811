# SPDX-License-Identifier: Apache-2.0
"""Explanations of clouds in which they can be worked out in the head."""

import dataclasses
import itertools
import tracemalloc

import pytest

from placement.search.model.snapshot import Snapshot
from placement.search.solver.feasibility import STEPS_TO_PREPARE
from placement.search.solver.resolved_request import ResolvedRequest
from placement.tests.unit.search.cloud import SHARING, cloud, parse, provider
from placement.tests.unit.search.test_budget import hard_host
from placement_insight.search.condition import Verdict
from placement_insight.search.explain import EXPLAIN_BUDGET, explain_request
from placement_insight.search.explanation import DisabledTrees, RequestExplanation
from placement_insight.search.funnel import group_funnels
from placement_insight.search.sentences import summary, words_of
from placement_insight.search.sliced_work import STEPS_IN_SLICE, SlicedWork
from placement_insight.search.survey import Survey

DISABLED = 'COMPUTE_STATUS_DISABLED'
HOSTS = cloud(
    provider('small', VCPU={'total': 4, 'used': 1}, MEMORY_MB=1024, traits='AVX'),
    provider('used', VCPU={'total': 8, 'used': 6}, MEMORY_MB=4096, traits='AVX'),
    provider('plain', VCPU=8, MEMORY_MB=4096),
    provider('off', VCPU=8, MEMORY_MB=4096, traits=f'AVX {DISABLED}'),
    provider('far', VCPU=8, MEMORY_MB=4096, traits='AVX', aggregates='Z'),
)
SERVER = f'resources=VCPU:6,MEMORY_MB:2048&required=AVX,!{DISABLED}&member_of=!Z'
NUMA = cloud(
    provider('cn', DISK_GB=10),
    provider('n0', parent='cn', VCPU=4),
    provider('n1', parent='cn', VCPU=4),
    provider('f0', parent='n0', FPGA=1),
    provider('pool', IPV4_ADDRESS=5, traits=SHARING, aggregates='A'),
)
APART = 'resources_A=VCPU:3&resources_B=VCPU:3&resources_C=FPGA:1&group_policy=none'


def explain(snapshot: Snapshot, query: str, provider: str | None = None) -> RequestExplanation:
    return explain_request(snapshot, parse(query), provider=provider)


@pytest.mark.parametrize(
    ('inventory', 'largest', 'rule'),
    [
        ({'total': 9, 'max_unit': 4}, 4, 'max_unit'),
        ({'total': 9, 'min_unit': 6}, 9, 'min_unit'),
        ({'total': 9, 'step_size': 2}, 9, 'step_size'),
        ({'total': 9, 'reserved': 9}, 0, 'reserved'),
        ({'total': 4, 'max_unit': 3}, 3, 'too small'),
    ],
)
def test_summary_names_the_rule_of_the_inventory(
    inventory: dict[str, int], largest: int, rule: str
) -> None:
    answer = explain(cloud(provider('cn', VCPU=inventory)), 'resources=VCPU:5')
    most = f'{largest}{"" if rule == "too small" else f", by {rule}"}'
    sentence = f': no tree gives 5 VCPU to one consumer; the most is {most} (of 1). '
    assert sentence in f'{summary(answer, {})} '
    words = f'VCPU: 5 asked, largest {largest} ({rule})'
    found = [words_of(one) for relaxation in answer.relaxations for one in relaxation.conditions]
    # Where all is reserved there is no other amount to ask for, nor anything else.
    assert found == ([] if 'reserved' in inventory else [words])


def test_amounts_come_with_the_trees_that_they_fit() -> None:
    sizes = [128, 128, 128, 96, 64, 64, 16, 16]
    hosts = [provider(f'cn{n}', VCPU=size) for n, size in enumerate(sizes)]
    (relaxation,) = explain(cloud(*hosts), 'resources=VCPU:400').relaxations
    assert (relaxation.trees, relaxation.largest) == (8, 128)
    assert relaxation.amounts == ((128, 3), (64, 6), (16, 8))


def test_amounts_of_groups_that_share_a_node_are_searched() -> None:
    nodes = [
        part
        for n, size in enumerate([8, 8, 6])
        for part in (
            provider(f'cn{n}', DISK_GB=1),
            provider(f'cn{n}_0', parent=f'cn{n}', VCPU=size),
        )
    ]
    query = 'resources_A=VCPU:2&resources_B=VCPU:9&group_policy=none'
    relaxations = explain(cloud(*nodes), query).relaxations
    assert relaxations[0].amounts == ((6, 2), (3, 3))


def test_class_that_is_given_up_brings_no_trait_to_an_amount() -> None:
    host = cloud(
        provider('cn', VCPU=8, DISK_GB=100),
        provider('disk', parent='cn', DISK_GB=4, traits='FAST'),
    )
    (relaxation,) = explain(host, 'resources=VGPU:1,DISK_GB:200&required=FAST').relaxations
    assert relaxation.amounts == ((4, 1),)
    assert explain(host, 'resources=DISK_GB:4&required=FAST').trees_fitting == 1
    assert explain(host, 'resources=DISK_GB:5&required=FAST').trees_fitting == 0


def test_group_goes_with_its_last_parameter() -> None:
    """A query cannot have a group that asks for nothing, nor name it in `same_subtree`."""
    needed = 'resources_A=VCPU:3&resources_B=VCPU:3&group_policy=none'
    query = f'{needed}&required_C=GOLD&same_subtree=_A,_C'
    relaxations = explain(NUMA, query).relaxations
    found = {words_of(one): relaxation.trees for relaxation in relaxations
            for one in relaxation.conditions}  # fmt: skip
    assert found == {'required trait GOLD': 1, 'subtree _A,_C': 1}
    assert explain(NUMA, needed).trees_fitting == 1
    # Without the group, one of the others has to be at the top of the subtree.
    apart = explain(NUMA, f'{needed}&required_C=GOLD&same_subtree=_A,_B,_C').relaxations
    assert [[words_of(one) for one in relaxation.conditions] for relaxation in apart] == [
        ['subtree _A,_B,_C']
    ]
    assert explain(NUMA, f'{needed}&same_subtree=_A,_B').trees_fitting == 0


def test_condition_fails_alone_only_what_it_turned_away() -> None:
    """A member without the class fails nothing else, but another one was turned away later."""
    host = cloud(provider('cn', VCPU=4), provider('gpu', parent='cn', VGPU=4))
    (group,) = explain(host, 'resources=VCPU:8').groups
    assert [(step.trees_before - step.trees_after, step.only) for step in group.steps] == [
        (0, 0),
        (1, 1),
        (0, 0),
    ]


def test_as_many_unlike_trees_are_searched_as_the_budget_allows() -> None:
    """Hundreds of NUMA hosts of which the last one has a node that is wholly free."""
    hosts = [
        part
        for n in range(700)
        for part in (
            provider(f'cn{n}', DISK_GB=1),
            *[
                provider(f'cn{n}_{node}', parent=f'cn{n}',
                         PCPU={'total': 48, 'used': 48 - (n % 23 + node if n < 699 else 48)},
                         MEMORY_MB={'total': 4096 + n})
                for node in range(2)
            ],
        )
    ]  # fmt: skip
    query = 'resources_A=PCPU:49&resources_B=MEMORY_MB:1&same_subtree=_A,_B&group_policy=none'
    answer = explain(cloud(*hosts), query)
    assert answer.examined == answer.of == 700
    assert answer.relaxations[0].amounts[0] == (48, 1)


def test_nearest_trees_of_equal_distance_differ_in_what_they_fail() -> None:
    elsewhere = [provider(f'far{n}', VCPU=8, aggregates='Z') for n in range(6)]
    off = provider('off', VCPU=8, aggregates='A', traits=DISABLED)
    hosts = cloud(*elsewhere, off, provider('off2', VCPU=8, aggregates='A', traits=DISABLED))
    answer = explain(hosts, f'resources=VCPU:1&member_of=A&root_required=!{DISABLED}')
    roots = [one.root for one in answer.nearest]
    assert roots == ['far0', 'off', 'far1', 'off2', 'far2']


def test_summary_names_verdict_condition_remedy_and_disabled_hosts() -> None:
    assert summary(explain(HOSTS, SERVER), {}) == (
        'Full now (it would fit if nothing were used): '
        'no tree with enough VCPU has 6 VCPU free; the most is 2 (of 1). '
        '1 tree would fit without required trait AVX. '
        f'1 tree would fit without forbidden trait {DISABLED}. '
        '1 tree would fit without aggregate !Z. '
        f'1 tree of 5 is disabled ({DISABLED}): off.'
    )
    assert summary(explain(HOSTS, 'resources=VCPU:400'), {}) == (
        'Never fits, even if nothing were used: '
        'no tree gives 400 VCPU to one consumer; the most is 8 (of 5). '
        '5 trees would fit with another amount of VCPU: 8 is the largest now, on 3 trees.'
    )
    assert summary(explain(HOSTS, 'resources=VCPU:1'), {}) == (
        f'Fits 5 trees of 5, 1 of them disabled ({DISABLED}): off.'
    )


@pytest.mark.parametrize(
    ('query', 'is_told'),
    [
        # No host is turned away for being disabled.
        ('resources=VCPU:400', False),
        (f'resources=VCPU:400&root_required=!{DISABLED}', False),
        ('resources=VCPU:1&required=GOLD', False),
        # A host is, or would be if another condition did not come before.
        (f'resources=VCPU:1&required=GOLD,!{DISABLED}', False),
        (f'resources=VCPU:6&root_required=AVX,!{DISABLED}&member_of=!Z', True),
        (f'resources=VCPU:6&required=AVX,!{DISABLED}&member_of=!Z', True),
    ],
)
def test_disabled_hosts_are_told_where_they_would_help(query: str, is_told: bool) -> None:
    assert (
        'disabled' in summary(explain(HOSTS, query), {}).partition(' trees would')[2]
    ) is is_told


def test_disabled_hosts_are_named_those_first_that_would_serve() -> None:
    small = [provider(f'small{n}', VCPU=1, traits=DISABLED) for n in range(2)]
    large = [provider(f'large{n}', VCPU=8, traits=DISABLED) for n in range(5)]
    hosts = cloud(*small, *large, provider('on', VCPU=4))
    query = f'resources=VCPU:{{}}&root_required=!{DISABLED}'
    answer = explain(hosts, query.format(6))
    assert answer.disabled == DisabledTrees(7, tuple(f'large{n}' for n in range(5)))
    assert summary(answer, {'large1': 'one'}).endswith(
        f'7 trees of 8 are disabled ({DISABLED}): large0, one, large2, large3, large4 and 2 more.'
    )
    fits = explain(hosts, 'resources=VCPU:1')
    assert fits.disabled == DisabledTrees(7, ('small0', 'small1', 'large0', 'large1', 'large2'))
    # Those that are disabled have no part in it.
    assert explain(hosts, query.format(4)).disabled == DisabledTrees()


POOL_ELSEWHERE = cloud(
    provider('cn1', VCPU=8, MEMORY_MB=4096, aggregates='ZONE'),
    provider('cn2', VCPU=8, MEMORY_MB=4096, aggregates='POOL'),
    provider('pool', DISK_GB=100, traits=f'{SHARING} OLD', aggregates='POOL'),
    provider('reached', VCPU=8, MEMORY_MB=4096, aggregates='ZONE POOL'),
)


@pytest.mark.parametrize(
    ('condition', 'words', 'who', 'sentence'),
    [
        ('required=!OLD', 'forbidden trait OLD for DISK_GB', 'every', 'has trait OLD for DISK_GB'),
        ('member_of=ZONE', 'aggregate ZONE for DISK_GB', 'no', 'is in aggregate ZONE for DISK_GB'),
        # Hosts and pool are in it.
        ('member_of=!POOL', 'aggregate !POOL', 'every', 'is in aggregate POOL'),
    ],
)
def test_condition_names_the_class_that_it_leaves_without_a_provider(
    condition: str, words: str, who: str, sentence: str
) -> None:
    answer = explain(POOL_ELSEWHERE, f'resources=VCPU:1,DISK_GB:10&{condition}', 'reached')
    assert words in [words_of(step.condition) for step in answer.groups[0].steps]
    assert f': {who} tree with DISK_GB {sentence} (of 2).' in summary(answer, {})
    assert answer.provider is not None
    assert words in [words_of(one) for one in answer.provider.failed]


UNLIKE = cloud(
    provider('ssd1', DISK_GB={'total': 500, 'max_unit': 400}, VCPU=16, traits='SSD'),
    provider('ssd2', DISK_GB={'total': 500, 'max_unit': 400, 'used': 400}, traits='SSD'),
    provider('pool', DISK_GB=100_000, traits=SHARING, aggregates='B'),
    provider('cn1', VCPU={'total': 8, 'used': 4}, MEMORY_MB=4096),
    provider('cn2', VCPU={'total': 8, 'used': 5}, MEMORY_MB=4096),
    provider('cn3', VCPU=8, MEMORY_MB=1024),
)


@pytest.mark.parametrize(
    ('snapshot', 'query', 'words'),
    [
        # The pool is larger, and no host with such disks reaches it.
        (
            UNLIKE, 'resources=DISK_GB:450&required=SSD',
            'no tree with trait SSD gives 450 DISK_GB to one consumer; the most is 400, by max_u',
        ),
        (
            UNLIKE, 'resources=DISK_GB:300&in_tree=ssd2',
            'no tree in the tree of ssd2 has 300 DISK_GB free; the most is 100 (of 1).',
        ),
        # A host that is too small for the memory has more processors free.
        (
            UNLIKE, 'resources=VCPU:6,MEMORY_MB:2048',
            'no tree with enough MEMORY_MB has 6 VCPU free; the most is 4 (of 2).',
        ),
        (
            HOSTS, 'resources=VCPU:1&required=AVX,GOLD',
            'no tree with trait AVX has trait GOLD (of 4).',
        ),
        (
            HOSTS, 'resources=VCPU:1&member_of=Z&required=!AVX',
            'no tree without trait AVX is in aggregate Z (of 1).',
        ),
        (
            HOSTS, 'resources=VCPU:9&member_of=Z',
            'no tree in aggregate Z gives 9 VCPU to one consumer; the most is 8 (of 1).',
        ),
        (
            HOSTS, 'resources=VCPU:9&member_of=!Z',
            'no tree outside of aggregate Z gives 9 VCPU to one consumer; the most is 8 (of 4).',
        ),
        (
            HOSTS, 'resources=VCPU:6,MEMORY_MB:5000',
            'no tree with enough VCPU gives 5000 MEMORY_MB to one consumer; the most is 4096',
        ),
        (
            HOSTS, 'resources=VCPU:1&in_tree=plain&required=AVX',
            'no tree in the tree of plain has trait AVX (of 1).',
        ),
        (
            HOSTS, 'resources=VCPU:1&resources_A=VCPU:1&required_A=GOLD&group_policy=none',
            'nothing were used: group _A: no tree has trait GOLD (of 5).',
        ),
        (
            NUMA, f'{APART}&same_subtree=_A,_B',
            'no tree left has _A,_B in one subtree (of 1). ',
        ),
        (
            cloud(provider('a', VCPU=4), provider('b', FPGA=1)),
            'resources_A=VCPU:1&resources_B=FPGA:1&group_policy=none',
            '1 has what group _A (VCPU:1) asks for, 1 has what group _B (FPGA:1) asks for. ',
        ),
        (
            cloud(
                provider('cn', VCPU=8, aggregates='A'),
                provider('pool', DISK_GB={'total': 9, 'reserved': 9}, traits=SHARING,
                         aggregates='A'),
            ),
            'resources=VCPU:1,DISK_GB:1',
            '1 tree would fit without asking for DISK_GB.',
        ),
    ],
)  # fmt: skip
def test_summary_tells_amounts_and_what_left_the_trees_before(
    snapshot: Snapshot, query: str, words: str
) -> None:
    assert words in summary(explain(snapshot, query), {})


@pytest.mark.parametrize('query', ['resources=VCPU:1&required=', 'resources_A=VCPU:1&required_A=',
                                   'resources=VCPU:1&root_required='])  # fmt: skip
def test_host_without_the_trait_of_nova_has_an_old_agent(query: str) -> None:
    hosts = cloud(
        provider('new', VCPU={'total': 4, 'used': 4}, traits='OWNER_NOVA'),
        provider('old', VCPU=4),
    )
    answer = explain(hosts, f'{query}OWNER_NOVA', 'old')
    assert answer.provider is not None
    (failed,) = answer.provider.failed
    words = 'OWNER_NOVA (the agent of a host without it has not been upgraded)'
    assert words_of(failed).endswith(words)
    assert f'{words}.' in summary(answer, {})
    others = explain(hosts, f'{query}OWNER_CYBORG', 'old').provider
    assert others is not None
    assert words_of(others.failed[0]).endswith(' OWNER_CYBORG')


def test_empty_cloud_is_infeasible() -> None:
    answer = explain(cloud(), 'resources=VCPU:1')
    assert answer.verdict is Verdict.INFEASIBLE
    assert summary(answer, {}) == 'There are no resource providers.'
    assert not answer.nearest
    assert not answer.relaxations


def test_millions_of_pairs_are_cut_by_the_budget_and_take_no_memory() -> None:
    traits = ','.join(f'T{number}' for number in range(100))
    groups = '&'.join(f'resources_{n}=VCPU:9&required_{n}={traits}' for n in range(10))
    work = SlicedWork(100_000, pause=lambda: None)
    tracemalloc.start()
    try:
        answer = explain_request(HOSTS, parse(f'{groups}&group_policy=none'), work)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert answer.verdict is Verdict.INFEASIBLE
    assert answer.is_cut
    assert 'Not everything that could help was tried.' in summary(answer, {})
    assert work.spent < 2 * 100_000
    assert most < 10_000_000


@pytest.mark.parametrize(
    ('query', 'expected'),
    [
        (
            '&same_subtree=_A,_B',
            [
                ('all groups from one tree', 2, 1, None),
                ('room for all groups together', 1, 1, None),
                ('subtree _A,_B', 1, 0, 1),
            ],
        ),
        (
            '&root_required=GOLD',
            [
                ('all groups from one tree', 2, 1, None),
                ('root_required GOLD', 1, 0, 1),
                ('room for all groups together', 0, 0, None),
            ],
        ),
        (
            '&resources_D=VCPU:2',
            [
                ('all groups from one tree', 2, 1, None),
                ('room for all groups together', 1, 0, None),
            ],
        ),
        (
            '&resources_D=VCPU:1&group_policy=isolate',
            [
                ('all groups from one tree', 2, 1, None),
                ('room for all groups together', 1, 1, None),
                ('isolate (4 groups, each on a provider of its own)', 1, 0, 1),
            ],
        ),
    ],
)
def test_combination_counts_what_groups_lose_together(
    query: str, expected: list[tuple[str, int, int, int | None]]
) -> None:
    answer = explain(NUMA, APART + query)
    assert [
        (words_of(step.condition), step.trees_before, step.trees_after, step.only)
        for step in answer.combination
    ] == expected


def test_groups_that_are_alike_are_named_together() -> None:
    hosts = provider('cpu', VCPU=8), provider('gpu', VGPU=1), provider('gpus', VGPU=2)
    query = 'resources=VCPU:1&resources_A=VGPU:1&resources_B=VGPU:1&group_policy=none'
    assert summary(explain(cloud(*hosts), query), {}).startswith(
        'Never fits, even if nothing were used: no tree has what all groups ask for: '
        '1 has what the unsuffixed group (VCPU:1) asks for, '
        '2 have what groups _A, _B (VGPU:1) ask for each. '
    )


def test_the_unsuffixed_group_is_named_apart_from_one_that_asks_for_as_much() -> None:
    hosts = provider('a', VCPU=1, traits='A'), provider('b', VCPU=1, traits='B')
    query = 'resources=VCPU:1&required=A&resources_B=VCPU:1&required_B=B&group_policy=none'
    words = summary(explain(cloud(*hosts), query), {})
    assert '1 has what the unsuffixed group (VCPU:1) asks for, ' in words
    assert '1 has what group _B (VCPU:1) asks for. ' in words
    query = 'resources=VCPU:1&resources_B=VCPU:1&group_policy=none'
    words = summary(explain(cloud(*hosts), query), {})
    assert words.endswith(
        ' 2 trees would fit without asking for VCPU. '
        '2 trees would fit without asking for VCPU in group _B.'
    )


def test_no_remedy_of_a_consumer_changes_its_amounts() -> None:
    hosts = provider('old', VCPU=8), provider('new', traits='FAST', VCPU=2)
    answer = explain(cloud(*hosts), 'resources=VCPU:4&required=FAST')
    of_request, of_consumer = summary(answer, {}), summary(answer, {}, keeps_amounts=True)
    assert 'without required trait FAST' in of_consumer
    assert 'another amount of VCPU' in of_request
    assert 'another amount of VCPU' not in of_consumer


def test_scarce_class_of_all_groups_is_named_with_its_amounts_and_the_remedy_once() -> None:
    hosts = [
        part
        for n in range(2)
        for part in (
            provider(f'cn{n}', VCPU=8),
            *[provider(f'gpu{n}_{m}', parent=f'cn{n}', VGPU=2) for m in range(2)],
        )
    ]
    groups = '&'.join(f'resources_{n}=VGPU:1' for n in range(5))
    answer = explain(cloud(*hosts), f'{groups}&group_policy=none')
    words = 'room for all groups together (VGPU: 5 asked, most free 4 in one tree)'
    assert words_of(answer.combination[-1].condition) == words
    assert summary(answer, {}) == (
        'Never fits, even if nothing were used: '
        f'no tree has {words[:-1]}; of 2). '
        '2 trees would fit without asking for VGPU in group _0 or _1 or _2 or _3 or _4.'
    )
    isolated = explain(
        cloud(*hosts), f'{groups}&group_policy=isolate'.replace('_4=VGPU', '_4=VCPU')
    )
    assert 'no tree has a provider for each of 5 groups (isolate) (of 2)' in summary(isolated, {})


def test_spent_budget_examines_a_fair_part_and_says_so() -> None:
    rows = [provider(f'cn{n}', VCPU=8 if n % 2 else 2) for n in range(4000)]
    snapshot, request = cloud(*rows), parse('resources=VCPU:16')
    answer = explain_request(snapshot, request, SlicedWork(2000, pause=lambda: None))
    assert answer.of == 4000
    assert 500 < answer.examined < 2000
    assert answer.verdict is Verdict.INFEASIBLE
    assert f'Examined {answer.examined} of 4000 trees.' in summary(answer, {})
    assert answer.groups[0].steps[0].trees_before == answer.examined


def test_sample_finds_what_fits_beyond_it() -> None:
    rows = [provider(f'cn{n}', VCPU={'total': 8, 'used': 8}) for n in range(4000)]
    snapshot = cloud(*rows, provider('free', VCPU=8))
    answer = explain_request(snapshot, parse('resources=VCPU:8'), SlicedWork(2000))
    assert answer.examined < 3000
    assert answer.verdict is Verdict.FITS
    report = explain_request(
        snapshot, parse('resources=VCPU:8'), SlicedWork(2000), provider='free'
    ).provider
    assert report is not None
    assert report.verdict is Verdict.FITS


@pytest.mark.parametrize(
    ('query', 'words'),
    [
        ('resources=CARD:2', 'no tree with CARD has 2 CARD free; the most is 1 (of 1)'),
        (
            'resources=VCPU:9&member_of=Z',
            'no tree in aggregate Z gives 9 VCPU to one consumer; the most is 8 (of 1)',
        ),
        ('resources=VCPU:32', 'no tree with enough VCPU has 32 VCPU free; the most is 4 (of 1)'),
    ],
)
def test_sample_has_the_few_trees_that_have_what_is_rare(query: str, words: str) -> None:
    rows = [provider(f'cn{n}', VCPU={'total': 8, 'used': 8}) for n in range(4000)]
    rows[2500:2500] = [
        provider('gpu', VCPU=8, CARD={'total': 2, 'used': 1}, aggregates='Z'),
        provider('large', VCPU={'total': 64, 'used': 60}),
    ]
    answer = explain_request(cloud(*rows), parse(query), SlicedWork(2000, pause=lambda: None))
    assert answer.examined < 2000
    assert words in summary(answer, {})


def test_spent_budget_leaves_a_hard_packing_unknown() -> None:
    rows, query = hard_host(1)
    work = SlicedWork(1500, pause=lambda: None)
    answer = explain_request(cloud(*rows), parse(query), work)
    assert answer.verdict is Verdict.UNKNOWN
    assert summary(answer, {}) == 'Not decided: the budget of the question was spent.'
    assert answer.relaxations == ()


def test_preparing_a_search_counts() -> None:
    """Each change that is tried out is a search of its own, prepared for all groups."""
    groups = '&'.join(f'resources{number}=VCPU:1' for number in range(100))
    work = SlicedWork(EXPLAIN_BUDGET, pause=lambda: None)
    request = parse(f'{groups}&group_policy=none')
    answer = explain_request(cloud(provider('cn', VCPU=4)), request, work)
    assert answer.is_cut
    assert 'Not everything that could help was tried' in summary(answer, {})
    assert work.spent > EXPLAIN_BUDGET - 10 * STEPS_TO_PREPARE * 100


def test_work_is_done_in_slices() -> None:
    pauses: list[None] = []
    work = SlicedWork(pause=lambda: pauses.append(None))
    rows = [provider(f'cn{n}', VCPU=8, MEMORY_MB=n) for n in range(1, 5000)]
    explain_request(cloud(*rows), parse('resources=VCPU:1,MEMORY_MB:9999'), work)
    assert work.spent > 15_000
    assert len(pauses) > work.spent / STEPS_IN_SLICE / 2


def test_conditions_of_many_unlike_trees_are_laid_over_them_in_slices() -> None:
    # Each host lacks other traits than any other, so none is alike for the request.
    names = [f'T{number}' for number in range(10)]
    traits = itertools.product(*[(name, '') for name in names])
    hosts = [provider(f'cn{n}', VCPU=8, traits=' '.join(some)) for n, some in enumerate(traits)]
    pauses: list[None] = []
    work = SlicedWork(pause=lambda: pauses.append(None))
    request = parse(f'resources=VCPU:1&required={",".join(names)}')
    resolved = ResolvedRequest.of(cloud(*hosts), request)
    survey = Survey(cloud(*hosts), resolved, work)
    before = work.spent
    pauses.clear()
    (funnel,) = group_funnels(survey)
    # How many trees pass, which pass without the condition, and the most of each amount.
    assert work.spent - before >= 2 * len(hosts) * len(funnel.steps)
    assert len(pauses) >= (work.spent - before) // STEPS_IN_SLICE - 1


def test_limit_belongs_to_the_search() -> None:
    request = parse(SERVER)
    limited = dataclasses.replace(request, limit=1, bound=1)
    assert explain_request(HOSTS, request) == explain_request(HOSTS, limited)
