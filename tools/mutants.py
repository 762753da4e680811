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


class Mutant(NamedTuple):
    """A text of a file that is replaced, and the test that has to notice it.

    File and test are relative to `placement/search` and `placement/tests/unit/search`.
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
        'self._traits &= ~answer.collected',
        'pass',
        'test_sharing.py::test_pool_brings_a_trait_to_hosts_of_another_block_of_ids',
    ),
    Mutant(
        'solver/slots.py',
        '                and answer.is_member[number]\n',
        '',
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
    Mutant(
        'candidates.py',
        '        search.random.shuffle(candidates)\n',
        '        pass\n',
        'test_order.py::test_random_answers_do_not_take_hosts_in_turn',
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
        'solver/plan.py',
        'not capacity.takes_any and any(map(capacity.unit_refusal, amounts))',
        'False',
        'test_units.py',
    ),
    Mutant(
        'solver/problem.py',
        'useful[number], is_settled = kept, False',
        'useful[number], is_settled = kept[:1], False',
        'solver/test_problem.py::test_no_slot_is_lost_with_which_the_goal_is_gained',
    ),
)


def copy_to(folder: pathlib.Path) -> None:
    """Copy what the unit tests of the search need."""
    shutil.copytree(ROOT / 'placement', folder / 'placement')
    shutil.copy(ROOT / 'pyproject.toml', folder)


def is_noticed(mutant: Mutant, folder: pathlib.Path) -> bool:
    """Whether the test of a mutant fails with it in time, in a copy of the package.

    Raises ValueError where the text is not there once, or the test cannot be run.
    """
    file = folder / 'placement' / 'search' / mutant.file
    source = file.read_text()
    if source.count(mutant.text) != 1:
        raise ValueError(f'{mutant.file} has not once: {mutant.text}')
    test = f'placement/tests/unit/search/{mutant.test}'
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
