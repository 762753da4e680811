# SPDX-License-Identifier: Apache-2.0
"""What a database takes without our looking closer is what we would have taken."""

import itertools
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import sqlalchemy as sa
from hypothesis import strategies

from placement.db.engine import transactions
from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.schema import tables
from placement.db.statements import allocations, inventories
from placement.search.model.capacity import Capacity

from .fixtures import databases

CONSUMER, OTHER = 'consumer', 'other'
VCPU = 0
MEMBERS = ('total', 'reserved', 'min_unit', 'max_unit', 'step_size', 'allocation_ratio')

#: Some that single precision cannot hold, or six digits, and the ends of what may be written.
RATIOS = (1.0, 16.0, 1.5, 0.9, 1.1, 1.3333333333, 1.000004, 0.12345678, 1e-30, 0.0, 3.4e38)

LARGEST = 2**31 - 1


@strategies.composite
def claims(draw: strategies.DrawFn) -> dict[str, Any]:
    """The members of an inventory, what is used of it, and an amount that may just fit."""

    def about(number: float, spread: int, least: int = 0) -> int:
        near = number + draw(strategies.integers(-spread, spread))
        return int(min(max(near, least), LARGEST))

    amount = draw(strategies.integers(1, 40) | strategies.integers(10_000_000, 100_000_000))
    ratio = draw(strategies.sampled_from(RATIOS))
    # As it is written, or as MySQL shows it.
    shown = draw(strategies.sampled_from((ratio, float(f'{ratio:.6g}'))))
    reserved = draw(strategies.integers(0, 2))
    total = about(draw(strategies.sampled_from((1, 2, 50))) * amount, 2, least=1)
    return {
        'total': total,
        'reserved': reserved,
        'min_unit': draw(strategies.just(1) | strategies.just(about(amount, 1, least=1))),
        'max_unit': draw(strategies.just(LARGEST) | strategies.just(about(amount, 1, least=1))),
        'step_size': draw(strategies.sampled_from((1, 2, 3, 0))),
        'allocation_ratio': ratio,
        'used': about((total - reserved) * shown - amount, 5),
        'amount': amount,
    }


@pytest.fixture(scope='module')
def database() -> Iterator[Database]:
    kept = databases.create()
    made = Database(create_engine(kept.url))
    yield made
    made.dispose()
    kept.drop()


def prepare(connection: sa.Connection, provider_id: int, claim: dict[str, Any]) -> None:
    """An inventory, and what is used of it."""
    members = {name: claim[name] for name in MEMBERS}
    place = {'resource_provider_id': provider_id, 'resource_class_id': VCPU}
    connection.execute(sa.insert(tables.inventories), {**place, **members})
    if claim['used']:
        taken = {**place, 'consumer_id': OTHER, 'used': claim['used']}
        connection.execute(sa.insert(tables.allocations), taken)


def wanted(provider_id: int, claim: dict[str, Any]) -> dict[str, Any]:
    return {
        'resource_provider_id': provider_id,
        'consumer_id': CONSUMER,
        'resource_class_id': VCPU,
        'used': claim['amount'],
    }


def taken(connection: sa.Connection) -> dict[int, int]:
    """What the consumer has, by provider."""
    found = connection.execute(
        sa.select(tables.allocations).where(tables.allocations.c.consumer_id == CONSUMER)
    )
    return {row.resource_provider_id: row.used for row in found}


def capacity_of(row: transactions.Row) -> Capacity:
    return Capacity(*(getattr(row, name) for name in MEMBERS))


@hypothesis.settings(max_examples=500)
@hypothesis.given(asked=strategies.lists(claims(), min_size=1, max_size=2))
def test_optimistic_insert_takes_all_or_nothing_within_capacity(
    database: Database, asked: list[dict[str, Any]]
) -> None:
    with database.engine.connect() as connection:
        for provider_id, claim in enumerate(asked, start=1):
            prepare(connection, provider_id, claim)
        rows = inventories.list_with_usage(connection, range(1, len(asked) + 1))
        by_provider = {row.resource_provider_id: row for row in rows}
        fit = all(
            capacity_of(by_provider[provider_id]).refusal(claim['amount'], claim['used']) is None
            for provider_id, claim in enumerate(asked, start=1)
        )

        wishes = list(itertools.starmap(wanted, enumerate(asked, start=1)))
        is_taken = allocations.insert_optimistically(connection, wishes)

        assert fit or not is_taken
        assert taken(connection) == (
            {wish['resource_provider_id']: wish['used'] for wish in wishes} if is_taken else {}
        )


@hypothesis.given(
    total=strategies.integers(10, 2**31 - 1),
    ratio=strategies.sampled_from(RATIOS) | strategies.floats(1, 20),
    amount=strategies.integers(1, 4),
)
def test_optimistic_insert_takes_amounts_below_the_safety_margin(
    database: Database, total: int, ratio: float, amount: int
) -> None:
    hypothesis.assume(ratio >= 1)
    claim = {
        'total': total, 'reserved': 0, 'min_unit': 1, 'max_unit': amount, 'step_size': amount,
        'allocation_ratio': ratio, 'used': total // 2, 'amount': amount,
    }  # fmt: skip
    with database.engine.connect() as connection:
        prepare(connection, 1, claim)

        assert allocations.insert_optimistically(connection, [wanted(1, claim)])


def test_optimistic_insert_refuses_a_missing_inventory(database: Database) -> None:
    with database.engine.connect() as connection:
        assert not allocations.insert_optimistically(connection, [wanted(1, {'amount': 1})])


@pytest.mark.skipif(databases.backend() != 'postgresql', reason='no other keeps such a ratio')
def test_optimistic_insert_refuses_a_ratio_that_is_not_a_number(database: Database) -> None:
    claim = {
        'total': 10, 'reserved': 0, 'min_unit': 1, 'max_unit': 10, 'step_size': 1,
        'allocation_ratio': float('nan'), 'used': 0, 'amount': 1,
    }  # fmt: skip
    with database.engine.connect() as connection:
        prepare(connection, 1, claim)
        assert not allocations.insert_optimistically(connection, [wanted(1, claim)])
