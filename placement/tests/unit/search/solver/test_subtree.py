# SPDX-License-Identifier: Apache-2.0
"""Subtree constraints, compared with every assignment of slots to groups."""

import itertools
import random
import re
from collections.abc import Sequence

import pytest

from placement.search.candidates import find_candidates
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Ancestry
from placement.search.solver import plan
from placement.search.solver.resolved_request import ResolvedRequest
from placement.search.solver.subtree import OpenSubtree, possible_roots, slots_within
from placement.search.solver.work import Work
from placement.tests.unit.search.cloud import cloud, mapped, parse, provider


def forest(chance: random.Random) -> Ancestry:
    """Up to eight slots, of which parents need not come first."""
    count = chance.randint(1, 8)
    names = chance.sample(range(count), count)
    parents = [-1] * count
    for number in range(1, count):
        parents[names[number]] = chance.choice([-1, *names[:number], *names[:number]])
    return Ancestry(parents)


def has_root(slots: Sequence[int], ancestry: Ancestry) -> bool:
    return any(all(ancestry.is_within(slot, top) for slot in slots) for top in slots)


def domains_in(chance: random.Random, ancestry: Ancestry) -> list[list[int]]:
    slots = range(len(ancestry.parents))
    return [
        sorted(chance.sample(slots, chance.randint(1, min(4, len(slots)))))
        for _ in range(chance.randint(2, 4))
    ]


@pytest.mark.parametrize('seed', range(300))
def test_slots_are_admitted_until_the_root_can_be_none_of_them(seed: int) -> None:
    chance = random.Random(seed)
    ancestry = forest(chance)
    domains = domains_in(chance, ancestry)
    opened = OpenSubtree(domains, ancestry)
    possible = [chosen for chosen in itertools.product(*domains) if has_root(chosen, ancestry)]
    found = []

    def give(chosen: tuple[int, ...]) -> None:
        if len(chosen) == len(domains):
            found.append(chosen)
            return
        for complete in possible:
            if complete[: len(chosen)] == chosen:
                later = complete[len(chosen) :]
                assert all(opened.admits(slot, is_next=False) for slot in later)
        for slot in domains[len(chosen)]:
            given = (*chosen, slot)
            if opened.admits(slot):
                opened.add(slot)
                give(given)
                opened.remove_last()
            else:
                assert all(one[: len(given)] != given for one in possible)

    give(())
    assert found == possible


@pytest.mark.parametrize('seed', range(300))
def test_every_root_of_an_assignment_is_possible(seed: int) -> None:
    chance = random.Random(seed)
    ancestry = forest(chance)
    domains = domains_in(chance, ancestry)
    is_isolated = chance.random() < 0.5
    query = '&'.join(f'resources_{n}=VF:{chance.randint(1, 3)}' for n in range(len(domains)))
    policy = 'isolate' if is_isolated else 'none'
    requests = ResolvedRequest.of(Snapshot.of([]), parse(f'{query}&group_policy={policy}'))
    asked = requests.provider_requests
    room = {(slot, 'VF'): chance.randint(1, 8) for slot in range(len(ancestry.parents))}

    def fits(chosen: tuple[int, ...]) -> bool:
        used = dict.fromkeys(chosen, 0)
        for slot, request in zip(chosen, asked, strict=True):
            used[slot] += request.amounts['VF']
        if is_isolated:
            return len(used) == len(chosen)
        return all(used[slot] <= room[slot, 'VF'] for slot in used)

    chosen = [one for one in itertools.product(*domains) if has_root(one, ancestry) and fits(one)]
    roots = possible_roots(asked, domains, room, ancestry, Work())
    within = slots_within(roots, ancestry)
    for slots in chosen:
        assert set(slots) <= within
        assert any(all(ancestry.is_within(one, top) for one in slots) for top in roots & {*slots})
    assert within == {
        slot
        for slot in range(len(ancestry.parents))
        if any(ancestry.is_within(slot, root) for root in roots)
    }


def test_root_may_be_chosen_last(monkeypatch: pytest.MonkeyPatch) -> None:
    # The groups with the fewest slots are decided first, and that above them has the most.
    monkeypatch.setattr(plan, 'FEW', 0)
    snapshot = cloud(
        provider('cn', VCPU=1),
        *[provider(f'numa{n}', parent='cn', VCPU=1) for n in range(3)],
        provider('pf', parent='numa0', VF=1),
        provider('gpu', parent='numa1', VGPU=1),
    )
    query = (
        'resources_N=VCPU:1&resources_P=VF:1&resources_G=VGPU:1'
        '&same_subtree=_N,_P,_G&group_policy=none'
    )
    result = find_candidates(snapshot, parse(query))
    assert mapped(result) == [{'_N': ['cn'], '_P': ['pf'], '_G': ['gpu']}]


def test_alike_groups_of_different_subtrees_have_different_slots() -> None:
    snapshot = cloud(
        provider('cn'),
        provider('numa0', parent='cn', VGPU=1),
        provider('pf0', parent='numa0', VF=1),
        provider('numa1', parent='cn', FPGA=1),
        provider('pf1', parent='numa1', VF=1),
    )
    query = (
        'resources_G=VGPU:1&resources_P=VF:1&same_subtree=_G,_P'
        '&resources_F=FPGA:1&resources_Q=VF:1&same_subtree=_F,_Q&group_policy=isolate'
    )
    expected = {'_G': ['numa0'], '_P': ['pf0'], '_F': ['numa1'], '_Q': ['pf1']}
    assert mapped(find_candidates(snapshot, parse(query))) == [expected]


TRAITS = ('EVEN', 'ODD')
LEAVES = [provider(f'pf{n}', parent='cn', VF=8, traits=TRAITS[n % 2]) for n in range(1000)]
PAIRS = [
    one
    for n in range(500)
    for one in (
        provider(f'card{n}', parent='cn', VF=8),
        provider(f'port{n}', parent=f'card{n}', VF=8),
    )
]
ONE_PAIR = [*LEAVES, provider('port', parent='pf7', VF=8)]


@pytest.mark.parametrize(
    ('children', 'amount', 'rest'),
    [
        (LEAVES, 1, 'same_subtree=_0,_1&group_policy=isolate'),
        (LEAVES, 5, 'same_subtree=_0,_1&group_policy=none'),
        (LEAVES, 1, 'same_subtree=_0,_1&group_policy=none&required_0=EVEN&required_1=ODD'),
        (PAIRS, 1, 'same_subtree=_0,_1,_2&group_policy=isolate'),
        (ONE_PAIR, 1, 'same_subtree=_0,_1&same_subtree=_2,_3&group_policy=isolate'),
    ],
)
def test_wide_tree_without_such_a_subtree_is_given_up_at_once(
    children: list[dict], amount: int, rest: str
) -> None:
    suffixes = sorted(set(re.findall(r'_\d', rest)))
    groups = '&'.join(f'resources{suffix}=VF:{amount}' for suffix in suffixes)
    result = find_candidates(cloud(provider('cn'), *children), parse(f'{groups}&{rest}'))
    assert not result.candidates
    # A few looks at each slot for each group, in the search and for its explanation.
    assert result.work < 15 * len(children) * len(suffixes)
