#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Apply small changes to the meaning of the code, and check that a test fails for each.

    python tools/mutants.py [word...]

Words choose the mutants that have one of them in their file or test. Each change is made in a copy
of the package, so the working tree stays as it is.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

ROOT = pathlib.Path(__file__).parents[1]
SECONDS = 300
INSIGHT = 'insight/'


class Mutant(NamedTuple):
    """A text of a file that is replaced, and the test that has to notice it.

    File and test are relative to `placement/search` and `placement/tests/unit/search`, or behind
    `insight/` to the same of `placement_insight`.
    """

    file: str
    text: str
    replacement: str
    test: str


MUTANTS = (
    # Sharing providers.
    Mutant(
        'solver/anchors.py',
        '            tuple([provider.id for provider in sharing]),\n',
        '',
        'test_sharing.py::test_alike_hosts_use_the_pools_of_their_own_aggregates',
    ),
    Mutant(
        'solver/search.py',
        'self._collected &= answer.failed',
        'pass',
        'test_sharing.py::test_pool_brings_a_trait_to_hosts_of_another_block_of_ids',
    ),
    Mutant(
        'solver/resolved_request.py',
        'if is_member and self.wanted:',
        'if self.wanted:',
        'test_sharing.py::test_pool_has_to_be_a_member_itself',
    ),
    Mutant(
        'solver/slots.py',
        'slots.get(parent, nearest[parent])',
        'slots.get(parent, -1)',
        'test_sharing.py::test_shares_of_one_tree_are_a_subtree_whatever_lies_between_them',
    ),
    Mutant(
        'candidates.py',
        'if identity in seen:',
        'if False:',
        'test_sharing.py::test_pools_that_some_trees_share_with_others_are_found_once',
    ),
    # Capacity of hosts without children.
    Mutant(
        'insight/closed_form.py',
        'if amount > capacity.largest:',
        'if amount > capacity.ceiling:',
        'insight/test_capacity.py',
    ),
    Mutant(
        'insight/tree_counts.py',
        'if len(set(isolated)) < len(isolated):',
        'if False:',
        'insight/test_capacity.py',
    ),
    # Random answers.
    Mutant(
        'solver/anchors.py',
        'randrange(last + 1)',
        'randrange(last or 1)',
        'test_order.py::test_random_search_begins_with_every_host_about_equally_often',
    ),
    # Nogoods.
    Mutant(
        'solver/nogoods.py',
        'partial.covered[depth] & partial.goal',
        '0',
        'solver/test_nogoods.py::test_nogood_tells_which_traits_were_brought_before',
    ),
    Mutant(
        'solver/nogoods.py',
        '            if used:\n',
        '            if False:\n',
        'solver/test_nogoods.py::test_nogood_tells_of_which_trees_a_provider_was_used',
    ),
    # Trees and passes.
    Mutant(
        'solver/backtracking.py',
        '                raise TreeDeferred\n',
        '                pass\n',
        'test_budget.py::test_hard_host_holds_nobody_up',
    ),
    Mutant(
        'solver/anchors.py',
        '            deferred.append(plan.candidates(tree, needs_member))\n',
        '',
        'solver/test_anchors.py::test_hard_trees_yield_after_the_others',
    ),
    # Amounts.
    Mutant(
        'model/capacity.py',
        'free if free < self.max_unit else self.max_unit',
        'free',
        'test_units.py',
    ),
    Mutant(
        'model/capacity.py',
        'self.step_size > 1 and amount % self.step_size',
        'False',
        'model/test_capacity.py',
    ),
    Mutant(
        'solver/tree_order.py',
        'not capacity.takes_any and any(map(capacity.unit_refusal, amounts))',
        'False',
        'test_units.py',
    ),
    # Order within a tree.
    Mutant(
        'solver/search.py',
        'roots, request.order, request.spread_classes',
        'roots, request.spread_classes',
        'test_tree_order.py::test_kept_solutions_are_those_of_an_order',
    ),
    Mutant(
        'solver/search.py',
        'roots, request.order, request.spread_classes',
        'roots, request.order',
        'test_tree_order.py::test_kept_solutions_are_those_of_the_request',
    ),
    Mutant(
        'solver/search.py',
        'repr((request.groups, rules,',
        'repr((request.groups,',
        'test_tree_order.py::test_kept_solutions_are_those_of_the_request',
    ),
    Mutant(
        'solver/plan.py',
        "'' if self.slots.has_sharing else ",
        '',
        'test_tree_order.py::test_kept_solutions_do_not_depend_on_other_trees',
    ),
    Mutant(
        'solver/tree_order.py',
        '0 if is_touched else self._opened',
        '0',
        'test_tree_order.py::test_device_of_a_used_node_opens_less_than_one_of_an_unused_node',
    ),
    # Order of decisions.
    Mutant(
        'solver/problem.py',
        '                not problem.variables[number].covers,\n',
        '',
        'solver/test_problem.py::test_variables_that_cover_traits_come_before_those_with_fewer_slots',
    ),
    Mutant(
        'solver/problem.py',
        '                len(problem.variables[number].domain),\n',
        '',
        'solver/test_problem.py::test_fewer_slots_come_before_larger_amounts',
    ),
    Mutant(
        'solver/problem.py',
        '                -problem.variables[number].weight,\n',
        '',
        'solver/test_problem.py::test_larger_amounts_come_before_smaller_ones',
    ),
    Mutant(
        'solver/problem.py',
        '                problem.variables[number].alike,\n',
        '',
        'solver/test_problem.py::test_variables_that_ask_for_the_same_follow_each_other',
    ),
    Mutant(
        'solver/problem.py',
        '                stack.extend(reversed(hardest_first(members)))\n',
        '',
        'solver/test_problem.py',
    ),
    Mutant(
        'solver/problem.py',
        '(request.alike, frozenset(domain))',
        'request.alike',
        'solver/test_subtree.py::test_alike_groups_of_different_subtrees_have_different_slots',
    ),
    Mutant(
        'solver/problem.py',
        'if needs_member and not profile.is_sharing:',
        'if needs_member:',
        'test_order.py::test_hosts_do_not_generate_again_what_sharing_providers_serve_alone',
    ),
    # Bounds of a problem.
    Mutant(
        'solver/bounds.py',
        'if number > fitting:',
        'if False:',
        'solver/test_bounds.py::test_a_slot_holds_no_more_amounts_than_go_into_its_room',
    ),
    Mutant(
        'solver/bounds.py',
        'sum(amounts) <= sum(rooms)',
        'True',
        'solver/test_bounds.py',
    ),
    Mutant(
        'solver/bounds.py',
        '        by_domain[tuple(room)] = [amount for amount, _ in loads]\n',
        '        pass\n',
        'solver/test_bounds.py',
    ),
    Mutant(
        'solver/bounds.py',
        'len(domains) <= len(slots) and',
        '',
        'solver/test_bounds.py',
    ),
    Mutant(
        'solver/bounds.py',
        'variables <= len(domain) for',
        'True for',
        'solver/test_bounds.py',
    ),
    # Subtrees.
    Mutant(
        'solver/subtree.py',
        'served[slot] == everyone and ',
        '',
        'solver/test_subtree.py',
    ),
    Mutant(
        'solver/subtree.py',
        'within[slot] >= needed for',
        'True for',
        'solver/test_subtree.py',
    ),
    Mutant(
        'solver/subtree.py',
        'top == before.slot and before.is_root',
        'before.is_root',
        'solver/test_subtree.py',
    ),
    Mutant(
        'solver/subtree.py',
        'len(self._tops) + is_next',
        'len(self._tops) + 1',
        'solver/test_subtree.py',
    ),
    Mutant(
        'solver/subtree.py',
        'len(self._tops) + is_next',
        'len(self._tops)',
        'solver/test_subtree.py',
    ),
    Mutant(
        'solver/nogoods.py',
        '"root" if top.is_root else "top"',
        '"top"',
        'solver/test_nogoods.py::test_nogood_tells_if_the_top_of_a_subtree_is_taken',
    ),
    Mutant(
        'solver/nogoods.py',
        'if subtree.is_begun and (top := subtree.top):',
        'if False and (top := subtree.top):',
        'solver/test_nogoods.py::test_nogood_tells_where_the_top_of_a_subtree_is',
    ),
    Mutant(
        'solver/nogoods.py',
        'tuple(sorted(beneath.get(slot, ())))',
        '()',
        'solver/test_nogoods.py::test_nogood_tells_where_the_top_of_a_subtree_is',
    ),
    Mutant(
        'solver/nogoods.py',
        'if slot in remaining.wanted}',
        'if False}',
        'solver/test_nogoods.py::test_nogood_tells_which_slots_were_taken',
    ),
    Mutant(
        'solver/nogoods.py',
        '(key, variable.covers.get(slot, 0), tree)',
        '(key, 0, tree)',
        'solver/test_nogoods.py::test_nogood_tells_which_traits_a_slot_brings',
    ),
    # Bounds of blocks.
    Mutant(
        'model/block.py',
        'total += max(0, room)',
        'total += room',
        'model/test_block.py::test_provider_over_its_capacity_takes_no_room_from_others',
    ),
    Mutant(
        'model/block.py',
        'room = max(_rooms(self.providers, position, ignores_usage))',
        'room = min(_rooms(self.providers, position, ignores_usage))',
        'model/test_block.py::test_bound_knows_what_any_and_what_all_of_its_providers_have',
    ),
    Mutant(
        'model/block.py',
        'frozenset.intersection(*traits)',
        'nothing.union(*traits)',
        'model/test_block.py::test_bound_knows_what_any_and_what_all_of_its_providers_have',
    ),
    Mutant(
        'solver/search.py',
        'self._may_be_member(request, bound) or bound.roots < len(bound.providers)',
        'self._may_be_member(request, bound)',
        'test_interleaved.py::test_root_in_an_aggregate_spans_children_that_are_not',
    ),
    Mutant(
        'solver/search.py',
        'return fits_if_spanned and',
        'return False and',
        'test_interleaved.py::test_root_in_an_aggregate_spans_children_that_are_not',
    ),
    Mutant(
        'solver/search.py',
        'block.room_in_tree(name, ignores_usage) >= total',
        'True',
        'model/test_block.py::test_blocks_are_passed_over_where_no_tree_has_room_for_all_groups',
    ),
    # Plans.
    Mutant(
        'solver/anchors.py',
        'structure.parents if search.resolved.constraints or search.is_ordered else None',
        'None',
        'solver/test_plans.py::test_alike_members_with_other_parents_have_plans_of_their_own',
    ),
    Mutant(
        'solver/anchors.py',
        '            search.failed_as_root(structure.profiles[0]),\n',
        '',
        'solver/test_plans.py::test_roots_with_other_traits_have_plans_of_their_own',
    ),
    Mutant(
        'solver/anchors.py',
        'tree.root_id if stands_for_itself else ANY_ROOT',
        'ANY_ROOT',
        'solver/test_plans.py::test_tree_that_is_named_has_a_plan_of_its_own',
    ),
    Mutant(
        'solver/resolved_request.py',
        'root_id != self.tree_id or not (is_member or self.is_suffixed)',
        'root_id != self.tree_id',
        'solver/test_plans.py::test_unsuffixed_group_with_in_tree_uses_no_pool_of_another_tree',
    ),
    # Places for consumers.
    Mutant(
        'insight/what_if/places.py',
        'if candidate is not None and not is_over_capacity(tree):',
        'if candidate is not None:',
        'insight/what_if/test_places.py',
    ),
    Mutant(
        'insight/what_if/places.py',
        'while candidate is not None and _serves_smaller(candidate):',
        'while candidate is not None:',
        'insight/what_if/test_places.py',
    ),
    Mutant(
        'insight/what_if/places.py',
        'if root_id not in skipped:',
        'if True:',
        'insight/what_if/test_places.py',
    ),
    Mutant(
        'insight/what_if/places.py',
        'capacity.min_unit > 1 or',
        '',
        'insight/what_if/test_places.py::test_slots_count_only_where_a_smaller_need_is_served_as_well',
    ),
)


def copy_to(folder: pathlib.Path) -> None:
    """Copy what the unit tests of the search need."""
    for package in ('placement', 'placement_insight'):
        shutil.copytree(ROOT / package, folder / package)
    shutil.copy(ROOT / 'pyproject.toml', folder)


def is_noticed(mutant: Mutant, folder: pathlib.Path) -> bool:
    """True if the test of a mutant fails with it in time, in a copy of the package.

    :raises ValueError: the file does not hold the text exactly once, or the test cannot be run
    """
    is_insight = mutant.file.startswith(INSIGHT)
    package = 'placement_insight' if is_insight else 'placement'
    file = folder / package / 'search' / mutant.file.removeprefix(INSIGHT)
    source = file.read_text()
    if source.count(mutant.text) != 1:
        raise ValueError(f'{mutant.file} has not once: {mutant.text}')
    test = f'{package}/tests/unit/search/{mutant.test.removeprefix(INSIGHT)}'
    environment = {**os.environ, 'PYTHONPATH': str(folder), 'PYTHONDONTWRITEBYTECODE': '1'}
    environment['PLACEMENT_TEST_THOROUGH'] = '1'
    command = [sys.executable, '-m', 'pytest', '-x', '-q', '-p', 'no:cacheprovider', test]
    file.write_text(source.replace(mutant.text, mutant.replacement))
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    finally:
        file.write_text(source)
    if done.returncode not in (0, 1):
        raise ValueError(f'{test} cannot be run: {done.stdout.decode()[-500:]}')
    return done.returncode == 1


def main() -> int:
    """Print a line for each mutant; 1 where one was not noticed."""
    words = sys.argv[1:]
    missed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        copy_to(folder)
        for mutant in MUTANTS:
            if words and not any(word in mutant.file or word in mutant.test for word in words):
                continue
            noticed = is_noticed(mutant, folder)
            missed += not noticed
            print('noticed' if noticed else 'MISSED ', mutant.file, mutant.test, flush=True)
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main())
