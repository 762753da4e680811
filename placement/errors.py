# SPDX-License-Identifier: Apache-2.0
"""Every error a client can see: its status, code and message, each declared once.

Objects and handlers raise these; `dispatch` renders them (specification: http, "Responses and
errors", "Order of checks"). The message of an error is the specific part of `detail`; the generic
sentence in front of it belongs to the status.
"""

import contextlib
from collections.abc import Iterator
from typing import ClassVar

UNDEFINED_CODE = 'placement.undefined_code'
CONCURRENT_UPDATE = 'placement.concurrent_update'
INVENTORY_INUSE = 'placement.inventory.inuse'
DUPLICATE_NAME = 'placement.duplicate_name'
PROVIDER_INUSE = 'placement.resource_provider.inuse'
PROVIDER_CANNOT_DELETE_PARENT = 'placement.resource_provider.cannot_delete_parent'
PROVIDER_NOT_FOUND = 'placement.resource_provider.not_found'
QUERY_DUPLICATE_KEY = 'placement.query.duplicate_key'
QUERY_BAD_VALUE = 'placement.query.bad_value'
QUERY_MISSING_VALUE = 'placement.query.missing_value'


class PlacementError(Exception):
    """An answer other than success; `str()` of it becomes the `detail` of the answer."""

    status: ClassVar[int] = 500
    code: str = UNDEFINED_CODE
    message: ClassVar[str] = '{reason}'

    def __init__(self, message: str | None = None, *, code: str | None = None, **values: object):
        super().__init__(self.message.format(**values) if message is None else message)
        if code is not None:
            self.code = code


class BadRequest(PlacementError):
    status = 400


class Forbidden(PlacementError):
    status = 403


class NotFound(PlacementError):
    status = 404
    message = ''


class MethodNotAllowed(PlacementError):
    status = 405
    message = 'The method specified is not allowed for this resource.'

    def __init__(self, allowed: str | None = None) -> None:
        # A method that comes with a later version gets the generic sentence only.
        super().__init__(None if allowed else '')
        self.allowed = allowed


class NotAcceptable(PlacementError):
    status = 406
    message = 'Only application/json is provided'


class Conflict(PlacementError):
    status = 409


class RequestTooLarge(PlacementError):
    status = 413
    message = (
        'The body of a request may have {most} bytes ([placement] max_request_body_size); '
        'this one has more.'
    )


class UnsupportedMediaType(PlacementError):
    status = 415
    message = 'The media type {media_type} is not supported, use application/json'


class UnexpectedFailure(PlacementError):
    """An exception that nobody expected, of which only the log has the text."""

    message = (
        'The service failed unexpectedly. Its log says why, in the lines with the id of this '
        'request.'
    )


class ServiceUnavailable(PlacementError):
    """Something behind the service is at fault, and not the request."""

    status = 503
    # Seconds after which to ask again; None where a client has to read first.
    retry_after: ClassVar[int | None] = 1


class IdentityUnavailable(ServiceUnavailable):
    message = 'The identity service cannot validate the token at the moment; please try again.'


class DatabaseUnavailable(ServiceUnavailable):
    message = 'The database cannot be reached at the moment; please try again.'


class OutcomeUnknown(ServiceUnavailable):
    """The reply to a COMMIT was lost, and the database did not tell in time whether it did it."""

    retry_after = None

    message = (
        'The connection to the database was lost while it stored the change, and the database did '
        'not tell in time whether it has. The change may have been made: read what the request '
        'was to change, and repeat the request only if it was not.'
    )


class DatabaseBusy(ServiceUnavailable):
    """A lock was not granted, or a statement not completed, within the time that is configured."""

    message = 'The database is busy: it could not get a lock in time; please try again.'


class DatabaseUnusable(ServiceUnavailable):
    """The database is full, damaged, or refuses the service; the log names the reason."""

    message = 'The database cannot process requests at the moment; its operator has to see to it.'


class DatabaseReadOnly(ServiceUnavailable):
    message = 'The database only reads at the moment; please try again.'


class DatabaseNotMigrated(ServiceUnavailable):
    message = 'The database does not have the tables that this release of the service needs.'


class InsightOff(NotFound):
    """A question below `/insight` that the operator has switched off."""

    message = 'This is switched off: {option} is false.'


class TooOldForQuestion(BadRequest):
    """A question that is read as a search, at a version that knows no search."""

    message = (
        'This is read as a search for allocation candidates, which there is since microversion '
        '{introduced}; the request is made at {version}.'
    )


class TryAgain(ServiceUnavailable):
    """A question below `/insight` that cannot be answered now, and can be in a second."""


class InsightBusy(TryAgain):
    """A process answers one question below `/insight` at a time."""

    message = 'Another question below /insight is being answered; please try again.'


class NodeBehind(TryAgain):
    """A page that follows another one is read from a node that has not applied as much yet."""

    message = 'The database has not applied yet what the page before showed; please try again.'


# Microversions (specification: http, "Microversions"). Both are answered before a version is
# established.


class InvalidVersion(BadRequest):
    message = 'Invalid microversion: invalid version string: {version}'
    bounds: ClassVar[dict[str, str]] = {}


class UnacceptableVersion(NotAcceptable):
    message = 'Invalid microversion: Unacceptable version header: {version}'

    def __init__(self, version: str, min_version: str, max_version: str) -> None:
        super().__init__(version=version)
        self.bounds = {'max_version': max_version, 'min_version': min_version}


# What is wrong with a request as such (specification: http, "Request content").


class MalformedJSON(BadRequest):
    message = 'Malformed JSON: {reason}'


class InvalidBody(BadRequest):
    message = 'JSON does not validate: {reason}'


class InvalidQuery(BadRequest):
    message = 'Invalid query string parameters: {reason}'


class PolicyNotAuthorised(Forbidden):
    message = 'Policy does not allow {rule} to be performed.'


# Resource providers.


class ResourceProviderNotFound(NotFound):
    message = 'No resource provider with uuid {uuid} found'


class ResourceProviderActionFailed(BadRequest):
    """An invalid parent, or a missing name."""

    message = 'Object action {action} failed because: {reason}'


class DuplicateResourceProvider(Conflict):
    code = DUPLICATE_NAME


class ResourceProviderHasChildren(Conflict):
    code = PROVIDER_CANNOT_DELETE_PARENT
    message = 'Unable to delete parent resource provider {uuid}: It has child resource providers.'


class ResourceProviderInUse(Conflict):
    code = PROVIDER_INUSE
    message = 'Unable to delete resource provider {uuid}: Resource provider has allocations.'


class ConcurrentUpdate(Conflict):
    """Another request changed what the client, or the server for it, had read."""

    code = CONCURRENT_UPDATE


class TooManyConflicts(ConcurrentUpdate):
    """The database refused every attempt because of concurrent updates; nothing was changed."""

    message = (
        'update conflict: the database kept refusing after {retries} retries because of '
        'concurrent updates; please try again'
    )


class ResourceProviderGenerationConflict(ConcurrentUpdate):
    message = 'resource provider generation conflict'


class ResourceProviderChanged(ConcurrentUpdate):
    message = (
        "Resource provider's generation already changed. "
        'Please update the generation and try again.'
    )


# Inventories.


class InvalidInventoryCapacity(BadRequest):
    message = (
        "Invalid inventory for '{resource_class}' on resource provider '{uuid}'. "
        'The reserved value is greater than or equal to total.'
    )


class InvalidInventoryReserved(InvalidInventoryCapacity):
    message = (
        "Invalid inventory for '{resource_class}' on resource provider '{uuid}'. "
        'The reserved value is greater than total.'
    )


class InventoryNotFound(NotFound):
    message = 'No inventory of class {resource_class} found.'


class InventoryExists(ConcurrentUpdate):
    message = 'Inventory of class {resource_class} on resource provider {uuid} already exists'


class InventoryInUse(Conflict):
    code = INVENTORY_INUSE
    message = "Inventory for '{classes}' on resource provider '{uuid}' in use."


# Resource classes and traits.


class ResourceClassNotFound(NotFound):
    message = 'No such resource class {name}.'


class ResourceClassExists(Conflict):
    message = 'Resource class already exists: {name}'


class ResourceClassInUse(Conflict):
    message = 'Cannot delete resource class {name}. Class is in use in inventory.'


class StandardResourceClass(BadRequest):
    message = 'Cannot {action} standard resource class {name}'


class TraitNotFound(NotFound):
    message = 'No such trait(s): {name}.'


class TraitInUse(Conflict):
    message = 'The trait {name} is in use by a resource provider.'


class StandardTrait(BadRequest):
    message = 'Cannot delete standard trait {name}.'


# Allocations.


class ConsumerGenerationConflict(ConcurrentUpdate):
    message = 'consumer generation conflict - expected {expected} but got {given}'


class AllocationsNotFound(NotFound):
    message = "No allocations for consumer '{uuid}'"


class UnknownAllocationProvider(BadRequest):
    message = "Allocation for resource provider '{uuid}' that does not exist."


class UnableToAllocate(Conflict):
    """A claim that the inventories cannot satisfy; the reason names class and provider."""

    message = 'Unable to allocate inventory: {reason}'


class InventoryMissing(UnableToAllocate):
    message = (
        "Unable to allocate inventory: Inventory for '{classes}' "
        "on resource provider '{uuid}' invalid."
    )


class InventoryConstraintsViolated(UnableToAllocate):
    message = (
        "Unable to allocate inventory: Unable to create allocation for '{resource_class}' on "
        "resource provider '{uuid}'. The requested amount would violate inventory constraints."
    )


class CapacityExceeded(UnableToAllocate):
    message = (
        "Unable to allocate inventory: Unable to create allocation for '{resource_class}' on "
        "resource provider '{uuid}'. The requested amount would exceed the capacity."
    )


class ReshapeProviderNotFound(BadRequest):
    code = PROVIDER_NOT_FOUND
    message = 'Resource provider {uuid} in inventories not found: {reason}'


@contextlib.contextmanager
def reported_as(
    kind: type[PlacementError],
    *replaced: type[PlacementError],
    prefix: str = '',
    suffix: str = '',
) -> Iterator[None]:
    """Raise `kind` in place of the errors `replaced`, with text around their message.

    Without `replaced`, errors of that kind get the text. For situations that change the meaning of
    an error: a provider that is missing in the path is not replaced, one missing in a claim is the
    client's mistake.
    """
    caught = replaced or (kind,)
    try:
        yield
    except caught as error:
        raise kind(f'{prefix}{error}{suffix}') from error
