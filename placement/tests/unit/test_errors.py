# SPDX-License-Identifier: Apache-2.0
"""Errors have a status, a code and words (specification: http, "Error codes")."""

import inspect
import string
from typing import Any

import pytest

from placement import errors

STATUSES = {400, 401, 403, 404, 405, 406, 409, 413, 415, 500, 503}

# The table of codes (specification: http, "Error codes").
CODES = {
    'placement.undefined_code',
    'placement.concurrent_update',
    'placement.inventory.inuse',
    'placement.duplicate_name',
    'placement.resource_provider.inuse',
    'placement.resource_provider.cannot_delete_parent',
    'placement.resource_provider.not_found',
    'placement.query.duplicate_key',
    'placement.query.bad_value',
    'placement.query.missing_value',
}

KINDS = [
    kind
    for _name, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, errors.PlacementError)
]


@pytest.mark.parametrize('kind', KINDS, ids=lambda kind: kind.__name__)
def test_every_error_has_a_status_and_a_code_of_the_specification(
    kind: type[errors.PlacementError],
) -> None:
    assert kind.status in STATUSES
    assert kind.code in CODES


def test_codes_are_those_of_the_specification() -> None:
    named = {
        value for name, value in vars(errors).items() if name.isupper() and isinstance(value, str)
    }

    assert named == CODES


@pytest.mark.parametrize(
    ('kind', 'status', 'code'),
    [
        (errors.ConsumerGenerationConflict, 409, 'placement.concurrent_update'),
        (errors.ResourceProviderGenerationConflict, 409, 'placement.concurrent_update'),
        (errors.ResourceProviderChanged, 409, 'placement.concurrent_update'),
        (errors.InventoryExists, 409, 'placement.concurrent_update'),
        (errors.InventoryInUse, 409, 'placement.inventory.inuse'),
        (errors.DuplicateResourceProvider, 409, 'placement.duplicate_name'),
        (errors.ResourceProviderInUse, 409, 'placement.resource_provider.inuse'),
        (
            errors.ResourceProviderHasChildren,
            409,
            'placement.resource_provider.cannot_delete_parent',
        ),
        (errors.ReshapeProviderNotFound, 400, 'placement.resource_provider.not_found'),
        # Notably without a code of their own.
        (errors.CapacityExceeded, 409, 'placement.undefined_code'),
        (errors.InventoryConstraintsViolated, 409, 'placement.undefined_code'),
        (errors.InventoryMissing, 409, 'placement.undefined_code'),
        (errors.ResourceClassExists, 409, 'placement.undefined_code'),
        (errors.ResourceClassInUse, 409, 'placement.undefined_code'),
        (errors.TraitInUse, 409, 'placement.undefined_code'),
        (errors.UnknownAllocationProvider, 400, 'placement.undefined_code'),
        (errors.InvalidBody, 400, 'placement.undefined_code'),
        (errors.DatabaseUnavailable, 503, 'placement.undefined_code'),
    ],
)
def test_error_class_has_the_status_and_code_of_the_specification(
    kind: type[errors.PlacementError], status: int, code: str
) -> None:
    assert (kind.status, kind.code) == (status, code)


def fields(message: str) -> set[str]:
    return {name for _text, name, _spec, _conversion in string.Formatter().parse(message) if name}


@pytest.mark.parametrize('kind', KINDS, ids=lambda kind: kind.__name__)
def test_every_message_can_be_formatted(kind: type[errors.PlacementError]) -> None:
    """Values are put in, and braces in them stay as they are."""
    if kind in (errors.MethodNotAllowed, errors.UnacceptableVersion):
        pytest.skip('made in a way of its own')
    values: dict[str, Any] = dict.fromkeys(fields(kind.message), '{x}')

    said = str(kind(**values))

    assert said.count('{x}') == len(values)
    assert said.replace('{x}', '').count('{') == 0


def test_explicit_message_is_not_formatted() -> None:
    assert str(errors.ResourceProviderNotFound('100% {uuid}')) == '100% {uuid}'


def test_error_instance_overrides_the_code_of_its_class() -> None:
    error = errors.BadRequest('no', code=errors.QUERY_BAD_VALUE)

    assert error.code == 'placement.query.bad_value'
    assert errors.BadRequest('no').code == 'placement.undefined_code'


def test_unacceptable_version_error_has_the_bounds() -> None:
    error = errors.UnacceptableVersion('2.0', '1.0', '1.39')

    assert (error.min_version, error.max_version) == ('1.0', '1.39')
    assert 'Unacceptable version header: 2.0' in str(error)


# Reporting an error as another


def report(
    kind: type[errors.PlacementError],
    *found: type[errors.PlacementError],
    raising: Exception,
    **words: str,
) -> None:
    with errors.reported_as(kind, *found, **words):
        raise raising


def test_reported_as_raises_the_other_error_with_prefix_and_suffix() -> None:
    missing = errors.ResourceProviderNotFound(uuid='u')

    with pytest.raises(errors.BadRequest) as raised:
        report(errors.BadRequest, errors.NotFound, raising=missing, prefix='a: ', suffix=' z')

    assert str(raised.value) == 'a: No resource provider with uuid u found z'
    assert raised.value.__cause__ is missing
    assert type(raised.value) is errors.BadRequest


def test_reported_as_passes_errors_of_other_classes() -> None:
    missing = errors.ResourceProviderNotFound(uuid='u')

    with pytest.raises(errors.ResourceProviderNotFound) as raised:
        report(errors.BadRequest, errors.Conflict, errors.Forbidden, raising=missing)

    assert raised.value is missing


def test_each_of_several_errors_is_reported() -> None:
    for raising in (errors.ResourceClassNotFound(name='X'), errors.InventoryInUse('Y')):
        with pytest.raises(errors.BadRequest):
            report(errors.BadRequest, errors.NotFound, errors.InventoryInUse, raising=raising)


def test_reported_error_has_the_code_of_its_class() -> None:
    in_use = errors.InventoryInUse(classes='VCPU', uuid='u')

    with pytest.raises(errors.ConcurrentUpdate) as raised:
        report(errors.ConcurrentUpdate, errors.InventoryInUse, raising=in_use)

    assert raised.value.code == 'placement.concurrent_update'


def test_reported_as_does_nothing_without_error() -> None:
    with errors.reported_as(errors.BadRequest, errors.NotFound):
        value = 1

    assert value == 1
