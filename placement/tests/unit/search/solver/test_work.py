# SPDX-License-Identifier: Apache-2.0
"""A bounded cache forgets its oldest entries one by one."""

from placement.search.solver.work import BoundedCache


def test_cache_forgets_one_entry_for_each_one_too_many() -> None:
    cache: BoundedCache[str, int] = BoundedCache(2)
    cache.add('a', 1)
    cache.add('b', 2)
    cache.add('c', 3)
    assert 'a' not in cache
    assert list(cache.values()) == [2, 3]


def test_cache_replaces_a_value_without_forgetting_another() -> None:
    cache: BoundedCache[str, int] = BoundedCache(2)
    cache.add('a', 1)
    cache.add('b', 2)
    cache.add('a', 7)
    assert cache.get('a') == 7
    assert len(cache) == 2
