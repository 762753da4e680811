# SPDX-License-Identifier: Apache-2.0
"""A bounded cache forgets its oldest entries one by one."""

from placement.search.solver.work import BoundedCache


def test_cache_forgets_one_entry_for_each_one_too_many() -> None:
    cache: BoundedCache[str, int] = BoundedCache(2)
    for key, value, held in (('a', 1, 'a'), ('b', 2, 'ab'), ('a', 7, 'ab'), ('c', 3, 'bc')):
        cache.add(key, value)
        assert ''.join(cache) == held
        assert cache[key] == value
