# SPDX-License-Identifier: Apache-2.0
"""Deciding whether claims may be written, without a database (specification: allocations)."""

import logging
from typing import Any

import pytest

from placement import errors
from placement.objects import claim as rules
from placement.objects.claim import Claim, Stock
from placement.schemas.common import NOT_SENT
from placement.search.model.capacity import Capacity


def claim(consumer: str = 'server', generation: Any = NOT_SENT, **resources: Any) -> Claim:
    """A claim of amounts by provider and class."""
    return Claim(consumer, resources, 'project', 'user', generation, NOT_SENT)


UNITS = {'min_unit': 1, 'max_unit': 99, 'step_size': 1}


def stock(total: int, used: int = 0, returned: int = 0) -> Stock:
    """An inventory that reserves nothing and takes any amount."""
    capacity = Capacity(total=total, reserved=0, allocation_ratio=1.0, **UNITS)
    return Stock(capacity, used, returned)


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


@pytest.mark.parametrize(
    ('stocked', 'fitting', 'exceeding'),
    [
        (stock(8, used=5), [3], [4]),
        # Amounts of several consumers are judged by their sum, and what they return is free.
        (stock(8), [4, 4], [4, 5]),
        (stock(8, used=8, returned=6), [6], [7]),
        # What is over capacity may stay so, but not worsen.
        (stock(8, used=12, returned=4), [4], [5]),
    ],
)
def test_last_unit_fits_and_one_more_exceeds_the_capacity(
    caplog: pytest.LogCaptureFixture, stocked: Stock, fitting: list[int], exceeding: list[int]
) -> None:
    stocks = {('host', 'VCPU'): stocked}

    with caplog.at_level(logging.WARNING):
        check_fit(stocks, *(claim(str(n), host={'VCPU': n}) for n in fitting))
    assert ('stays over capacity' in caplog.text) == (stocked.used == 12)
    with pytest.raises(errors.CapacityExceeded):
        check_fit(stocks, *(claim(str(n), host={'VCPU': n}) for n in exceeding))
