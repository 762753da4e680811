# SPDX-License-Identifier: Apache-2.0
"""Reads providers from the tables, as rows for a `Snapshot`.

The number of statements does not depend on the number of providers.
"""

import itertools
import logging
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
from placement.db.statements.providers import PARENT, ROOT, TREE, list_names
from placement.search.model.provider import InventoryRow, ProviderRow

LOG = logging.getLogger(__name__)

# Number of rows fetched at a time in a full load. All rows together would take more memory than
# the snapshot.
ROWS_AT_A_TIME = 1_000

# The largest number of providers that one warning names.
MAX_NAMED = 5

NO_INVENTORIES: Mapping[str, InventoryRow] = {}

# Names, or uuids, by id.
Names = Mapping[int, str]


class ProviderStatement:
    """A statement about all providers, or about those with given ids.

    `about_all` is a faster form for all providers, if there is one.
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
        # Partitions, because iterating a result row by row takes much longer.
        return itertools.chain.from_iterable(result.partitions(ROWS_AT_A_TIME))


class NamesStatement:
    """A statement about names of providers, such as their traits.

    One table holds the names, another links providers to them.
    """

    def __init__(
        self, name: sa.Column[str], name_id: sa.Column[int], provider_id: sa.Column[int]
    ) -> None:
        names = name.table
        # All ids of a provider as one text: one row for each name takes the driver much longer.
        texts = sa.func.aggregate_strings(sa.cast(name_id, sa.String), ',')
        is_named = name.is_not(None)
        self._names = sa.select(names.c.id, name).where(is_named)
        self._rows = ProviderStatement(
            sa.select(provider_id, name).join(names, names.c.id == name_id).where(is_named),
            provider_id,
            about_all=sa.select(provider_id, texts).group_by(provider_id),
        )

    def by_provider(
        self, connection: sa.Connection, ids: Collection[int] | None
    ) -> dict[int, tuple[str, ...]]:
        """The names by id of the provider, of all providers or only of those in `ids`.

        In a full load, providers with the same names share one tuple.
        """
        if ids is None:
            # The names first: PyMySQL drops the rest of a result when another statement is sent.
            names = _names(connection, self._names)
            return _names_in_texts(self._rows.rows(connection, ids), names)
        by_provider: dict[int, list[str]] = {}
        for provider_id, name in self._rows.rows(connection, ids):
            by_provider.setdefault(provider_id, []).append(name)
        return {provider_id: tuple(names) for provider_id, names in by_provider.items()}


_identity = resource_providers.c.id, resource_providers.c.uuid
_PROVIDERS = ProviderStatement(
    sa.select(*_identity, PARENT.c.id, ROOT.c.id).select_from(TREE),
    resource_providers.c.id,
    # Without joins; `_orphans` checks parents and roots.
    about_all=sa.select(
        *_identity, resource_providers.c.parent_provider_id, resource_providers.c.root_provider_id
    ),
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
# Provider by provider, each inventory with the sum of its allocations. PostgreSQL would be faster
# with a join of all sums. But MariaDB then reads all allocations of a class for each inventory
# while its statistics are outdated, as after a restore.
_INVENTORIES = ProviderStatement(
    sa.select(_provider_id, resource_classes.c.name, *MEMBERS, _used)
    .join(resource_classes, resource_classes.c.id == _class_id)
    .order_by(_provider_id),
    _provider_id,
)


def load_providers(
    connection: sa.Connection, ids: Collection[int] | None = None
) -> Iterator[ProviderRow]:
    """Yield the rows of all providers, or of those in `ids`; missing providers are left out.

    All providers take six statements, some take four. All statements have to see the database at
    one moment. Providers with inventories come first, by id, so that only one provider's
    inventories are in memory at a time: those of a whole cloud would take more memory than the
    snapshot.
    """
    providers: dict[int, Sequence[Any]] = {row[0]: row for row in _PROVIDERS.rows(connection, ids)}
    if ids is None:
        providers |= _orphans(connection, providers)
    with_traits = _TRAITS.by_provider(connection, ids)
    with_aggregates = _AGGREGATES.by_provider(connection, ids)

    def provider_row(
        provider: Sequence[Any], inventories_of: Mapping[str, InventoryRow]
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


def _orphans(
    connection: sa.Connection, providers: Mapping[int, Sequence[Any]]
) -> Mapping[int, Sequence[Any]]:
    """The rows whose parent or root does not exist, by id, with None instead of the missing id.

    The snapshot takes such a row for a root, so that all other trees can be searched.
    """
    orphans = {
        row[0]: (*row[:2], *(related if related in providers else None for related in row[2:]))
        for row in providers.values()
        if any(related is not None and related not in providers for related in row[2:])
    }
    if orphans:
        uuids = [row[1] for row in itertools.islice(orphans.values(), MAX_NAMED)]
        named = ', '.join(
            f'{uuid} ({name})' for uuid, name in sorted(list_names(connection, uuids).items())
        )
        LOG.warning(
            'The parent or the root of %d resource providers does not exist, among them %s. '
            'Searches take each of them for a root. PUT /resource_providers/{uuid} with '
            'parent_provider_uuid null makes it one.',
            len(orphans),
            named,
        )
    return orphans


def _inventories(
    connection: sa.Connection, ids: Collection[int] | None
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the id of each provider with its inventories by name of the class.

    Inventories are plain tuples in the order of `InventoryRow`, as `ProviderRow` allows.
    """
    by_provider = itertools.groupby(_INVENTORIES.rows(connection, ids), operator.itemgetter(0))
    for provider_id, rows in by_provider:
        yield provider_id, {row[1]: row[2:] for row in rows}


def _names(connection: sa.Connection, statement: sa.Select[int, str]) -> Names:
    return dict(connection.execute(statement).all())


def _names_in_texts(rows: Iterable[Sequence[Any]], names: Names) -> dict[int, tuple[str, ...]]:
    """The names of each provider, from a text of their ids; ids without a name are left out."""
    by_text: dict[str, tuple[str, ...]] = {}
    by_provider: dict[int, tuple[str, ...]] = {}
    for provider_id, text in rows:
        named = by_text.get(text)
        if named is None:
            ids = map(int, text.split(','))
            named = by_text[text] = tuple([names[name_id] for name_id in ids if name_id in names])
        by_provider[provider_id] = named
    return by_provider
