# SPDX-License-Identifier: Apache-2.0
"""Deciding whether claims may be written, without a database (specification: allocations)."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from placement import errors
from placement.objects import claim as rules
from placement.objects.claim import Claim, Stock
from placement.schemas.not_sent import NOT_SENT
from placement.search.model.capacity import Capacity


def claim(consumer: str = 'server', generation: Any = NOT_SENT, **resources: Any) -> Claim:
    """A claim of amounts by provider and class."""
    return Claim(consumer, resources, 'project', 'user', generation, NOT_SENT)


def stock(total: int, used: int = 0, returned: int = 0, **members: Any) -> Stock:
    """An inventory that reserves nothing and takes any amount, unless said otherwise."""
    defaults = {'reserved': 0, 'min_unit': 1, 'max_unit': 2**31 - 1, 'step_size': 1}
    capacity = Capacity(total=total, allocation_ratio=1.0, **{**defaults, **members})
    return Stock(capacity, used, returned)


def test_claims_keep_the_order_and_the_owners_of_the_bodies() -> None:
    conf: Any = SimpleNamespace(
        placement=SimpleNamespace(
            incomplete_consumer_project_id='no project', incomplete_consumer_user_id='no user'
        )
    )
    body = {
        'allocations': {'host': {'resources': {'VCPU': 1}}},
        'project_id': 'p',
        'user_id': 'u',
        'consumer_generation': 3,
        'consumer_type': 'INSTANCE',
    }
    old = body | {'project_id': NOT_SENT, 'user_id': NOT_SENT, 'allocations': {}}

    assert Claim.from_bodies(conf, {'b': body, 'a': old}) == [
        Claim('b', {'host': {'VCPU': 1}}, 'p', 'u', 3, 'INSTANCE'),
        Claim('a', {}, 'no project', 'no user', 3, 'INSTANCE'),
    ]


def check_fit(stocks: dict[tuple[str, str], Stock], *claims: Claim) -> None:
    rules.check_fit(claims, ['VCPU', 'DISK_GB'], stocks)


def test_more_amounts_than_one_request_may_write_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rules, 'MAX_AMOUNTS', 3)
    three_amounts = [claim('one', host={'VCPU': 1, 'DISK_GB': 1}), claim('two', host={'VCPU': 1})]

    rules.check_size(three_amounts)
    with pytest.raises(errors.BadRequest, match='at most 3 amounts; this one has 4'):
        rules.check_size([*three_amounts, claim('three', other={'VCPU': 1})])


def test_amounts_of_several_consumers_are_judged_by_their_sum() -> None:
    stocks = {('host', 'VCPU'): stock(8)}

    check_fit(stocks, claim('one', host={'VCPU': 4}), claim('two', host={'VCPU': 4}))
    with pytest.raises(errors.CapacityExceeded):
        check_fit(stocks, claim('one', host={'VCPU': 4}), claim('two', host={'VCPU': 5}))


def test_what_the_consumers_return_is_free() -> None:
    stocks = {('host', 'VCPU'): stock(8, used=8, returned=6)}

    check_fit(stocks, claim(host={'VCPU': 6}))
    with pytest.raises(errors.CapacityExceeded):
        check_fit(stocks, claim(host={'VCPU': 7}))


def test_an_overcommitted_inventory_may_stay_so_but_not_worsen(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stocks = {('host', 'VCPU'): stock(8, used=12, returned=4)}

    with caplog.at_level(logging.WARNING):
        check_fit(stocks, claim(host={'VCPU': 4}))
    assert 'stays over capacity' in caplog.text
    with pytest.raises(errors.CapacityExceeded):
        check_fit(stocks, claim(host={'VCPU': 5}))
