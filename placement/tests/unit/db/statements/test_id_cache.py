# SPDX-License-Identifier: Apache-2.0
"""Ids that a process remembers."""

import pytest

from placement.db.statements import id_cache
from placement.db.statements.id_cache import IdCache


def test_cache_finds_ids_by_kind_and_name() -> None:
    ids = IdCache()
    ids.remember('projects', {'a': 1, 'zero': 0})
    ids.remember('users', {'a': 2})

    assert ids.find('projects', ['a', 'b', 'zero']) == {'a': 1, 'zero': 0}
    assert ids.find('users', ['a', 'zero']) == {'a': 2}
    assert ids.find('consumer_types', ['a']) == {}


def test_cache_does_not_find_forgotten_names() -> None:
    ids = IdCache()
    ids.remember('projects', {'a': 1, 'b': 2})
    ids.forget('projects', ['a', 'never known'])

    assert ids.find('projects', ['a', 'b']) == {'b': 2}


def test_cache_drops_a_kind_that_has_too_many_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(id_cache, 'MAX_IDS_PER_KIND', 2)
    ids = IdCache()
    ids.remember('projects', {'a': 1, 'b': 2, 'c': 3})
    ids.remember('projects', {'d': 4})

    assert ids.find('projects', ['a', 'b', 'c', 'd']) == {'d': 4}
