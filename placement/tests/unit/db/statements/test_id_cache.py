# SPDX-License-Identifier: Apache-2.0
"""Ids of providers that a process remembers."""

import pytest

from placement.db.statements import id_cache
from placement.db.statements.id_cache import IdCache


def test_find_returns_remembered_ids() -> None:
    ids = IdCache()
    ids.remember({'a': 1, 'zero': 0})

    assert ids.find(['a', 'b', 'zero']) == {'a': 1, 'zero': 0}


def test_find_returns_no_forgotten_id() -> None:
    ids = IdCache()
    ids.remember({'a': 1, 'b': 2})
    ids.forget(['a', 'never known'])

    assert ids.find(['a', 'b']) == {'b': 2}


def test_remember_drops_all_ids_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(id_cache, 'MAX_IDS', 2)
    ids = IdCache()
    ids.remember({'a': 1, 'b': 2, 'c': 3})
    ids.remember({'d': 4})

    assert ids.find(['a', 'b', 'c', 'd']) == {'d': 4}
