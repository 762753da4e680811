# SPDX-License-Identifier: Apache-2.0
"""Traits, and which providers have them (specification: traits)."""

import re
from collections.abc import Collection, Sequence
from typing import Self

from oslo_versionedobjects import fields

from placement import errors
from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import associations, names
from placement.db.statements import traits as statements
from placement.db.statements.name_table import TRAITS
from placement.insight.history.statements import Part, SubjectKind
from placement.objects import base
from placement.objects.resource_provider import ResourceProvider

CUSTOM_PREFIX = 'CUSTOM_'
LONGEST_NAME = 255

_CUSTOM_NAME = re.compile(r'CUSTOM_[A-Z0-9_]+')


@base.register
class Trait(base.Named):
    """A quality that a provider has or has not."""

    # Version 1.0: Initial version
    VERSION = '1.0'

    KIND = SubjectKind.TRAIT
    NAMES = TRAITS
    NOT_FOUND = errors.TraitNotFound
    IN_USE = errors.TraitInUse

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
    @db.reader
    def list_by_provider(cls, context: RequestContext, provider: ResourceProvider) -> Self:
        """The traits of a provider."""
        return cls.from_rows(context, statements.list_by_provider(context.connection, provider.id))

    @classmethod
    @db.writer
    def replace(
        cls,
        context: RequestContext,
        provider: ResourceProvider,
        wanted: Collection[str],
        generation: int,
    ) -> Self:
        """Replace the traits of a provider, and return them.

        Its generation is incremented only if that changes anything. Raises
        `errors.ResourceProviderChanged`, and `errors.TraitNotFound` naming every unknown trait.
        """
        connection = context.connection
        provider.lock_at(generation, errors.ResourceProviderChanged)
        ids = names.find_ids(connection, names.TRAIT, set(wanted))
        unknown = [name for name in dict.fromkeys(wanted) if name not in ids]
        if unknown:
            raise errors.TraitNotFound(f'No such trait {", ".join(unknown)}')
        _change(connection, provider, set(ids.values()))
        return cls.list_by_provider(context, provider)

    @staticmethod
    @db.writer
    def clear(context: RequestContext, provider: ResourceProvider) -> None:
        """Remove every trait of a provider."""
        provider.lock()
        _change(context.connection, provider, set())


def _change(connection: db.Connection, provider: ResourceProvider, wanted: set[int]) -> None:
    present = {row.id for row in statements.list_by_provider(connection, provider.id)}
    if present == wanted:
        return
    associations.replace(connection, statements.MEMBER, provider.id, present, wanted)
    provider.increment_generation(Part.TRAITS)


def listing_order(name: str) -> tuple[bool, str]:
    """The place of a name in lists: standard traits first, as by their ids in the database."""
    return name.startswith(CUSTOM_PREFIX), name


@db.reader
def list_by_filters(
    context: RequestContext,
    names: Collection[str] | None = None,
    prefix: str | None = None,
    associated: bool | None = None,
) -> Sequence[db.Row]:
    """The rows of the traits that meet every filter given."""
    return statements.list_by_filters(context.connection, names, prefix, associated)


def is_custom_name(name: str) -> bool:
    """Test whether a client may make a trait of this name."""
    return len(name) <= LONGEST_NAME and _CUSTOM_NAME.fullmatch(name) is not None
