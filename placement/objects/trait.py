# SPDX-License-Identifier: Apache-2.0
"""Traits, and the traits of providers (specification: traits)."""

import re
from collections.abc import Collection, Container, Sequence, Set
from typing import Self

from oslo_versionedobjects import fields

from placement import errors
from placement.context import RequestContext
from placement.db.changes import NameKind, Part
from placement.db.mode import Mode
from placement.db.rows import Connection, Row
from placement.db.statements import associations, names
from placement.db.statements import traits as statements
from placement.db.statements.name_table import TRAITS
from placement.db.statements.names import standard_traits
from placement.db.transaction import in_transaction
from placement.objects import base
from placement.objects.resource_provider import ResourceProvider

CUSTOM_PREFIX = 'CUSTOM_'
LONGEST_NAME = 255

_CUSTOM_NAME = re.compile(r'CUSTOM_[A-Z0-9_]+')


@base.register
class Trait(base.Named):
    """A qualitative property of providers."""

    # Version 1.0: Initial version
    VERSION = '1.0'

    KIND = NameKind.TRAIT
    NAMES = TRAITS
    NOT_FOUND = errors.TraitNotFound
    IN_USE = errors.TraitInUse

    @classmethod
    def standard(cls) -> Container[str]:
        """The traits of os-traits."""
        return standard_traits()

    def check_deletable(self) -> None:
        """Raise `errors.StandardTrait` for a standard trait."""
        if not self.name.startswith(CUSTOM_PREFIX):
            raise errors.StandardTrait(name=self.name)


@base.register
class TraitList(base.PlacementObjectList):
    """Traits of one provider."""

    # Version 1.0: Initial version
    VERSION = '1.0'

    ELEMENT = Trait

    fields = {'objects': fields.ListOfObjectsField('Trait')}

    @classmethod
    @in_transaction(Mode.READ)
    def list_by_provider(cls, context: RequestContext, provider: ResourceProvider) -> Self:
        """The traits of a provider."""
        return cls.from_rows(context, statements.list_by_provider(context.connection, provider.id))

    @classmethod
    @in_transaction(Mode.WRITE)
    def replace(
        cls,
        context: RequestContext,
        provider: ResourceProvider,
        wanted: Collection[str],
        generation: int,
    ) -> Self:
        """Replace the traits of a provider, and return them.

        Its generation is incremented only if the traits change.

        :raises errors.ResourceProviderChanged: the generation of the provider is another one
        :raises errors.TraitNotFound: traits do not exist; names all of them
        """
        connection = context.connection
        provider.lock_at(generation, errors.ResourceProviderChanged)
        ids = names.find_trait_ids(connection, set(wanted))
        unknown = [name for name in dict.fromkeys(wanted) if name not in ids]
        if unknown:
            raise errors.TraitNotFound(f'No such trait {", ".join(unknown)}')
        _change(connection, provider, set(ids.values()))
        return cls.list_by_provider(context, provider)

    @staticmethod
    @in_transaction(Mode.WRITE)
    def clear(context: RequestContext, provider: ResourceProvider) -> None:
        """Remove every trait of a provider."""
        provider.lock()
        _change(context.connection, provider, set())


def _change(connection: Connection, provider: ResourceProvider, wanted: set[int]) -> None:
    present = {row.id for row in statements.list_by_provider(connection, provider.id)}
    if present == wanted:
        return
    associations.replace(connection, statements.MEMBER, provider.id, present, wanted)
    provider.increment_generation(Part.TRAITS)


def listing_order(name: str) -> tuple[bool, str]:
    """Sort key of a name in lists: standard traits first, as in the order of ids."""
    return name.startswith(CUSTOM_PREFIX), name


def list_by_filters(
    context: RequestContext,
    names: Set[str] | None = None,
    prefix: str | None = None,
    associated: bool | None = None,
) -> Sequence[Row]:
    """The rows of the traits that meet every filter given."""

    def lacks_some(rows: Sequence[Row]) -> bool:
        """True if standard traits are missing in the database, which `associated` ones cannot."""
        if associated is not None:
            return False
        wanted = standard_traits() if names is None else standard_traits().intersection(names)
        present = {row.name for row in rows}
        return any(name not in present and name.startswith(prefix or '') for name in wanted)

    return base.complete(
        context,
        lambda connection: statements.list_by_filters(connection, names, prefix, associated),
        lacks_some,
    )


def is_custom_name(name: str) -> bool:
    """True if clients may create a trait with this name."""
    return len(name) <= LONGEST_NAME and _CUSTOM_NAME.fullmatch(name) is not None
