# SPDX-License-Identifier: Apache-2.0
"""The syntax of query values: resources, member_of, required.

Specification: resource_providers, "GET /resource_providers"; allocation_candidates, "Request
grammar". All errors are `errors.BadRequest`, with the messages of those sections.
"""

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from oslo_utils import uuidutils

from placement import errors
from placement.http.microversion import Api, Rule

FORBIDDEN = '!'
ANY_OF = 'in:'


# Limits of one request, an order of magnitude beyond the queries of known clients. The longest
# real query is the `name=in:` of nova for all traits, about 16,000 characters.
MAX_LENGTH = 65_536
MAX_GROUPS = 256
MAX_CONDITIONS = 256


class Query:
    """The parameters of a query string: decoded, checked, in their order."""

    def __init__(self, parameters: Iterable[tuple[str, str]]) -> None:
        self._parameters = list(parameters)
        self._values: dict[str, list[str]] = {}
        for name, value in self._parameters:
            self._values.setdefault(name, []).append(value)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._parameters)

    def last(self, name: str) -> str | None:
        """The last value of a parameter, or None."""
        return self._values[name][-1] if name in self._values else None

    def all(self, name: str) -> list[str]:
        """Every value of a parameter."""
        return self._values.get(name, [])

    def last_values(self) -> dict[str, str]:
        """The last value of every parameter, by name."""
        return {name: values[-1] for name, values in self._values.items()}


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """Conditions on the traits or the aggregates of a provider.

    It must have at least one name of each set of `required`, and none of `forbidden`.
    """

    required: tuple[frozenset[str], ...] = ()
    forbidden: frozenset[str] = frozenset()


NOTHING_WANTED = Wanted()


@contextlib.contextmanager
def unknown_names_reported(trait_prefix: str = '') -> Iterator[None]:
    """Report classes and traits of a query that do not exist as `errors.BadRequest`."""
    prefix = 'Invalid resource class in resources parameter: '
    with (
        errors.reported_as(errors.BadRequest, errors.ResourceClassNotFound, prefix=prefix),
        errors.reported_as(errors.BadRequest, errors.TraitNotFound, prefix=trait_prefix),
    ):
        yield


def _all_of(name: str, parts: Iterable[Wanted]) -> Wanted:
    """The conditions of all values of one parameter."""
    parts = list(parts)
    required = tuple(any_of for part in parts for any_of in part.required)
    _check_count(name, len(required))
    return Wanted(required, frozenset().union(*(part.forbidden for part in parts)))


def _check_count(name: str, count: int) -> None:
    if count > MAX_CONDITIONS:
        raise errors.InvalidQuery(
            reason=f'{name} has {count} conditions, more than {MAX_CONDITIONS}'
        )


def parse_resources(value: str) -> dict[str, int]:
    """Amounts by resource class, from `VCPU:2,MEMORY_MB:1024`."""
    form = (
        'Badly formed resources parameter. Expected resources query string parameter in form: '
        '?resources=VCPU:2,MEMORY_MB:1024. Got: {}.'
    )
    if not value.strip():
        raise errors.BadRequest(form.format('empty string'))
    amounts = {}
    items = value.split(',')
    _check_count('resources', len(items))
    for item in items:
        if item.count(':') != 1:
            raise errors.BadRequest(form.format(item))
        name, text = item.split(':')
        amounts[name] = _parse_amount(name, text)
    return amounts


def _parse_amount(name: str, text: str) -> int:
    try:
        amount = int(text)
    except ValueError:
        raise errors.BadRequest(
            f'Requested resource {name} expected positive integer amount. Got: {text}.'
        ) from None
    if amount < 1:
        raise errors.BadRequest(f'Requested resource {name} requires amount >= 1. Got: {amount}.')
    return amount


def parse_member_of(api: Api, key: str, values: Sequence[str]) -> Wanted:
    """Required and forbidden aggregates, from all values of one parameter."""
    if len(values) > 1 and not api.allows(Rule.REPEATED_MEMBER_OF):
        raise errors.BadRequest(f'Multiple {key} parameters are not supported')
    return _all_of(key, (_parse_aggregates(api, key, value) for value in values))


def _parse_aggregates(api: Api, key: str, value: str) -> Wanted:
    forbidden = value.startswith(FORBIDDEN)
    text = value.removeprefix(FORBIDDEN)
    if text.startswith(ANY_OF):
        uuids = text.removeprefix(ANY_OF).split(',')
    elif ',' in text:
        raise errors.BadRequest(
            "Multiple values for 'member_of' must be prefixed with the 'in:' or '!in:' keyword "
            f'using the valid microversion. Got: {value}'
        )
    else:
        uuids = [text]
    for uuid in uuids:
        if not uuidutils.is_uuid_like(uuid):
            raise errors.InvalidQuery(
                reason=f"Expected 'member_of' parameter to contain valid UUID(s). Got: {uuid}"
            )
    if forbidden and not api.allows(Rule.FORBIDDEN_AGGREGATES):
        raise errors.BadRequest(
            f'Forbidden {key} parameters are not supported in the specified microversion'
        )
    names = frozenset(uuids)
    return Wanted(forbidden=names) if forbidden else Wanted(required=(names,))


def parse_required(api: Api, values: Iterable[str]) -> Wanted:
    """Required and forbidden traits, from all values of one parameter.

    Only the last value counts at versions without repeated parameters.
    """
    values = list(values)
    if not api.allows(Rule.ANY_TRAITS):
        values = values[-1:]
    return _all_of('required', (_parse_required_value(api, value) for value in values))


def unsupported_any_trait(api: Api, value: str) -> errors.InvalidQuery:
    """The error for `in:` at versions that do not support it for traits."""
    return errors.InvalidQuery(
        reason="The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' only supported since microversion "
        f'{api.introduced[Rule.ANY_TRAITS]}. Got: {value}'
    )


def _parse_required_value(api: Api, value: str) -> Wanted:
    if not value.startswith(ANY_OF):
        return parse_traits(value, may_forbid=api.allows(Rule.FORBIDDEN_TRAITS))
    if not api.allows(Rule.ANY_TRAITS):
        raise unsupported_any_trait(api, value)
    names = [name.strip() for name in value.removeprefix(ANY_OF).split(',')]
    if not all(names):
        raise errors.InvalidQuery(
            reason="Expected 'required' parameter value of the form: "
            f'in:HW_CPU_X86_VMX,CUSTOM_MAGIC. Got an empty trait in: {value}'
        )
    if any(name.startswith(FORBIDDEN) for name in names):
        raise errors.InvalidQuery(
            reason="The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' does not support forbidden "
            f'traits. Got: {value}'
        )
    return Wanted(required=(frozenset(names),))


def parse_traits(value: str, may_forbid: bool) -> Wanted:
    """Required traits and, after `!`, forbidden ones."""
    example = 'HW_CPU_X86_VMX,!CUSTOM_MAGIC' if may_forbid else 'HW_CPU_X86_VMX,CUSTOM_MAGIC'
    expected = f"Expected 'required' parameter value of the form: {example}."
    names = [name.strip() for name in value.split(',')]
    if not all(name.strip(FORBIDDEN) for name in names):
        raise errors.InvalidQuery(reason=f'{expected} Got an empty trait in: {value}')
    if not may_forbid and any(name.startswith(FORBIDDEN) for name in names):
        raise errors.InvalidQuery(reason=f'{expected} Got: {value}')
    forbidden = frozenset(n.lstrip(FORBIDDEN) for n in names if n.startswith(FORBIDDEN))
    required = tuple(frozenset([n]) for n in names if not n.startswith(FORBIDDEN))
    return Wanted(required, forbidden)
