# SPDX-License-Identifier: Apache-2.0
"""A sharded map says what a dictionary says, and a changed copy leaves it alone."""

import hypothesis
from hypothesis import strategies as st

from placement.search.model.indexes import ShardedMap

KEYS = st.integers(0, 3000)


@hypothesis.given(
    st.lists(
        st.tuples(st.sets(KEYS, max_size=5), st.dictionaries(KEYS, st.integers(), max_size=5))
    )
)
def test_changed_copies_equal_a_dictionary(changes: list[tuple[set[int], dict[int, int]]]) -> None:
    known: dict[int, int] = {}
    mapping: ShardedMap[int, int] = ShardedMap()
    for removed, added in changes:
        before, old = mapping, dict(known)
        gone = removed & known.keys()
        for key in gone:
            del known[key]
        known |= added
        mapping = mapping.with_changes({key: before[key] for key in gone}, added)
        for now, expected in ((mapping, known), (before, old)):
            assert len(now) == len(expected)
            for key in {*known, *old}:
                assert now.get(key) == expected.get(key)
                assert (key in now) == (key in expected)
