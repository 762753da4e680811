# SPDX-License-Identifier: Apache-2.0
"""Providers read from the tables, as the rows that a `Snapshot` is made of.

A fixed number of statements reads all providers, or some.
"""

import itertools
import operator
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from placement.db.schema.tables import (
    inventories,
    placement_aggregates,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    traits,
)
from placement.db.statements.inventories import MEMBERS, used_of
from placement.search.model.provider import InventoryRow, ProviderRow

# How many rows are fetched at a time when everything is read: a driver that held all of them would
# take more memory than the snapshot that is made of them.
ROWS_AT_A_TIME = 1_000

NO_INVENTORIES: Mapping[str, InventoryRow] = {}

# Names, or uuids, by id.
Names = Mapping[int, str]


class ProviderStatement:
    """A statement about providers, built once for all of them and once for some.

    Where another statement takes less time for all providers, `about_all` is that one.
    """

    def __init__(
        self,
        statement: sa.Select[*tuple[Any, ...]],
        provider_id: sa.Column[int],
        about_all: sa.Select[*tuple[Any, ...]] | None = None,
    ) -> None:
        about_all = statement if about_all is None else about_all
        self._about_all = about_all.execution_options(yield_per=ROWS_AT_A_TIME)
        self._about_some = statement.where(
            provider_id.in_(sa.bindparam('provider_ids', expanding=True))
        )

    def rows(
        self, connection: sa.Connection, ids: Collection[int] | None
    ) -> Iterator[sa.Row[*tuple[Any, ...]]]:
        """The rows of all providers; with `ids`, of those only."""
        if ids is None:
            result = connection.execute(self._about_all)
        else:
            result = connection.execute(self._about_some, {'provider_ids': list(ids)})
        # To ask a result for row after row takes as long as to read the rows.
        return itertools.chain.from_iterable(result.partitions(ROWS_AT_A_TIME))


class NamesStatement:
    """A kind of names that providers have: a table of them, and one that links to it."""

    def __init__(
        self, name: sa.Column[str], name_id: sa.Column[int], provider_id: sa.Column[int]
    ) -> None:
        names = name.table
        # All ids of a provider as one text: 400,000 rows with a name in each took SQLite and the
        # driver twice as long as the texts of 100,000 providers, and PyMySQL four times.
        texts = sa.func.aggregate_strings(sa.cast(name_id, sa.String), ',')
        self._names = sa.select(names.c.id, name)
        self._rows = ProviderStatement(
            sa.select(provider_id, name).join(names, names.c.id == name_id),
            provider_id,
            about_all=sa.select(provider_id, texts).group_by(provider_id),
        )

    def by_provider(
        self, connection: sa.Connection, ids: Collection[int] | None
    ) -> dict[int, tuple[str, ...]]:
        """The names that each provider has; with `ids`, those of these providers only.

        Of all providers, those that have the same ones share them.
        """
        if ids is None:
            # The names first: PyMySQL drops what is left of a result when a statement is sent.
            names = _names(connection, self._names)
            return _names_in_texts(self._rows.rows(connection, ids), names)
        by_provider: dict[int, list[str]] = {}
        for provider_id, name in self._rows.rows(connection, ids):
            by_provider.setdefault(provider_id, []).append(name)
        return {provider_id: tuple(names) for provider_id, names in by_provider.items()}


_PROVIDERS = ProviderStatement(
    sa.select(
        resource_providers.c.id,
        resource_providers.c.uuid,
        resource_providers.c.parent_provider_id,
        resource_providers.c.root_provider_id,
    ),
    resource_providers.c.id,
)
_TRAITS = NamesStatement(
    traits.c.name,
    resource_provider_traits.c.trait_id,
    resource_provider_traits.c.resource_provider_id,
)
_AGGREGATES = NamesStatement(
    placement_aggregates.c.uuid,
    resource_provider_aggregates.c.aggregate_id,
    resource_provider_aggregates.c.resource_provider_id,
)
_provider_id, _class_id = inventories.c.resource_provider_id, inventories.c.resource_class_id
_used = used_of(_provider_id, _class_id)
# Provider by provider, each inventory with the sum of what is allocated from it. For 300,000
# inventories PostgreSQL takes 0.9 s, and 0.3 s with a join of all sums; but MariaDB reads all
# allocations of a class for each inventory then, where its statistics do not know yet that many
# rows were written, as after a restore.
_INVENTORIES = ProviderStatement(
    sa.select(_provider_id, resource_classes.c.name, *MEMBERS, _used)
    .join(resource_classes, resource_classes.c.id == _class_id)
    .order_by(_provider_id),
    _provider_id,
)


def load_providers(
    connection: sa.Connection, ids: Collection[int] | None = None
) -> Iterator[ProviderRow]:
    """Rows of all providers, in six statements, or of those among `ids` that exist, in four.

    All statements have to see the database at one moment. Providers with inventories come first,
    in the order of their ids: an inventory is let go with the row of its provider, since those of
    a cloud would take more memory than the snapshot that is made of them.
    """
    providers = {row[0]: row for row in _PROVIDERS.rows(connection, ids)}
    with_traits = _TRAITS.by_provider(connection, ids)
    with_aggregates = _AGGREGATES.by_provider(connection, ids)

    def provider_row(
        provider: sa.Row[*tuple[Any, ...]], inventories_of: Mapping[str, InventoryRow]
    ) -> ProviderRow:
        provider_id = provider[0]
        names = with_traits.pop(provider_id, ()), with_aggregates.pop(provider_id, ())
        return ProviderRow._make([*provider, inventories_of, *names])

    for provider_id, inventories_of in _inventories(connection, ids):
        provider = providers.pop(provider_id, None)
        if provider is not None:
            yield provider_row(provider, inventories_of)
    for provider in providers.values():
        yield provider_row(provider, NO_INVENTORIES)


def _inventories(
    connection: sa.Connection, ids: Collection[int] | None
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The inventories of one provider after the other, by name of the class.

    They are plain tuples in the order of `InventoryRow`, as `ProviderRow` allows.
    """
    by_provider = itertools.groupby(_INVENTORIES.rows(connection, ids), operator.itemgetter(0))
    for provider_id, rows in by_provider:
        yield provider_id, {row[1]: row[2:] for row in rows}


def _names(connection: sa.Connection, statement: sa.Select[int, str]) -> Names:
    return dict(connection.execute(statement).all())


def _names_in_texts(rows: Iterable[Sequence[Any]], names: Names) -> dict[int, tuple[str, ...]]:
    """Return the names in texts of ids, by provider; ids without a name are left out."""
    by_text: dict[str, tuple[str, ...]] = {}
    by_provider: dict[int, tuple[str, ...]] = {}
    for provider_id, text in rows:
        named = by_text.get(text)
        if named is None:
            ids = map(int, text.split(','))
            named = by_text[text] = tuple([names[name_id] for name_id in ids if name_id in names])
        by_provider[provider_id] = named
    return by_provider
