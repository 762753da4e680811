# SPDX-License-Identifier: Apache-2.0
"""The capacity rule in SQL, for lists of providers, equals the rule of searches and claims."""

import math
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import sqlalchemy as sa
from hypothesis import strategies

from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.schema import tables
from placement.db.statements import inventories
from placement.search.model.capacity import Capacity
from placement.tests.opened import database_on
from placement.tests.thorough import examples

from .fixtures import databases
from .fixtures.backends import on_postgresql

OTHER = 'other'
VCPU = 0
MEMBERS = ('total', 'reserved', 'min_unit', 'max_unit', 'step_size', 'allocation_ratio')

#: Some that single precision cannot hold, or six digits, and the ends of what may be written.
RATIOS = (1.0, 16.0, 1.5, 0.9, 1.1, 1.3333333333, 1.000004, 0.12345678, 1e-30, 0.0, 3.4e38)

LARGEST = 2**31 - 1

#: The part of a capacity by which databases may differ.
MARGIN = 1e-5


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
    made = database_on(create_engine(kept.url))
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


def has_room(connection: sa.Connection, provider_id: int, amount: int) -> bool:
    """The answer of the database."""
    matching = sa.select(sa.literal(provider_id)).where(
        inventories.has_room(sa.literal(provider_id), VCPU, amount)
    )
    return connection.scalar(matching) is not None


@hypothesis.settings(max_examples=examples(500))
@hypothesis.given(claim=claims())
def test_database_finds_room_by_the_rule_of_capacity(
    database: Database, claim: dict[str, Any]
) -> None:
    """Compare the statement with `Capacity`, except within the rounding of MySQL."""
    amount, used = claim['amount'], claim['used']
    with database.engine.connect() as connection:
        prepare(connection, 1, claim)
        (row,) = inventories.list_with_usage(connection, [1])
        capacity = Capacity(*(getattr(row, name) for name in MEMBERS))
        fits = capacity.refusal(amount, used) is None
        is_rounded = math.isclose(capacity.capacity, used + amount, rel_tol=MARGIN)

        assert has_room(connection, 1, amount) == fits or is_rounded


def test_database_finds_no_room_in_a_missing_inventory(database: Database) -> None:
    with database.engine.connect() as connection:
        assert not has_room(connection, 1, 1)


@on_postgresql
def test_database_finds_no_room_by_a_ratio_that_is_not_a_number(database: Database) -> None:
    claim = {
        'total': 10, 'reserved': 0, 'min_unit': 1, 'max_unit': 10, 'step_size': 1,
        'allocation_ratio': float('nan'), 'used': 0, 'amount': 1,
    }  # fmt: skip
    with database.engine.connect() as connection:
        prepare(connection, 1, claim)
        assert not has_room(connection, 1, 1)
