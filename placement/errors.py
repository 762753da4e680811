# SPDX-License-Identifier: Apache-2.0
"""The errors of the API: status, code and message, each declared once.

Objects and handlers raise these; `dispatch` renders them (specification: http, "Responses and
errors", "Order of checks"). The message of an error is the specific part of `detail`, which
follows the generic sentence of the status.
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

#: Maximum length of a client's text, such as a name, in a message.
MAX_QUOTED = 1_024


class PlacementError(Exception):
    """An error response; `str()` of it is the `detail` of the answer.

    Messages quote texts of clients, so their length is limited.
    """

    status: ClassVar[int] = 500
    code: str = UNDEFINED_CODE
    message: ClassVar[str] = '{reason}'
    max_length: ClassVar[int] = 4 * MAX_QUOTED

    def __init__(self, message: str | None = None, *, code: str | None = None, **values: object):
        if message is None:
            # Reasons are complete sentences, which are not shortened.
            quoted = {
                name: value if name == 'reason' else shortened(str(value))
                for name, value in values.items()
            }
            message = self.message.format(**quoted)
        super().__init__(shortened(message, self.max_length))
        if code is not None:
            self.code = code

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the answer that belong to this error."""
        return {}


def shortened(text: str, length: int = MAX_QUOTED) -> str:
    """The text, cut to `length` characters and three dots if it is longer."""
    return text if len(text) <= length else f'{text[:length]}...'


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
        # A method of a later version gets the generic sentence only.
        super().__init__(None if allowed else '')
        self._allowed = allowed

    @property
    def headers(self) -> dict[str, str]:
        return {'Allow': self._allowed} if self._allowed else {}


class NotAcceptable(PlacementError):
    status = 406
    message = 'Only application/json is provided'


class Conflict(PlacementError):
    status = 409


class Gone(PlacementError):
    status = 410


class LengthRequired(PlacementError):
    status = 411
    message = (
        'The web server of the service reads no body in chunks: send it with a Content-Length.'
    )


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
    """An unexpected exception, whose text goes to the log only."""

    message = (
        'The service failed unexpectedly. Its log says why, in the lines with the id of this '
        'request.'
    )


class ServiceUnavailable(PlacementError):
    """A failure of something behind the service, not of the request."""

    status = 503
    # Value of Retry-After in seconds; None if the client has to read first.
    retry_after: ClassVar[int | None] = 1

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.retry_after is None else {'Retry-After': str(self.retry_after)}


class IdentityUnavailable(ServiceUnavailable):
    message = 'The identity service cannot validate the token at the moment; please try again.'


class DatabaseUnavailable(ServiceUnavailable):
    message = 'The database cannot be reached at the moment; please try again.'


class OutcomeUnknown(ServiceUnavailable):
    """The reply to a COMMIT was lost, and its outcome could not be determined in time."""

    retry_after = None

    message = (
        'The connection to the database was lost while it stored the change, and the database did '
        'not tell in time whether it has. The change may have been made: read what the request '
        'was to change, and repeat the request only if it was not.'
    )


class DatabaseBusy(ServiceUnavailable):
    """A lock or a statement exceeded its configured timeout."""

    message = 'The database is busy: it could not get a lock in time; please try again.'


class DatabaseUnusable(ServiceUnavailable):
    """The database is full, damaged, or refuses the service; the log names the reason."""

    message = 'The database cannot process requests at the moment; its operator has to see to it.'


class DatabaseFailed(ServiceUnavailable):
    """The database failed for an unknown reason, which is a defect of the service."""

    retry_after = None

    message = (
        'The database failed for a reason that the service does not know, and nothing was '
        'changed; the log of the service has it.'
    )


class DatabaseReadOnly(ServiceUnavailable):
    message = 'The database only reads at the moment; please try again.'


class DatabaseNotMigrated(ServiceUnavailable):
    message = 'The database does not have the tables that this release of the service needs.'


class TooOldForQuestion(BadRequest):
    """A question that extends a search, at a version without searches."""

    message = (
        'This is read as a search for allocation candidates, which there is since microversion '
        '{introduced}; the request is made at {version}.'
    )


# Microversions (specification: http, "Microversions"). Both are raised before the version is
# known.


class InvalidVersion(BadRequest):
    message = 'Invalid microversion: invalid version string: {version}'
    bounds: ClassVar[dict[str, str]] = {}


class UnacceptableVersion(NotAcceptable):
    message = 'Invalid microversion: Unacceptable version header: {version}'

    def __init__(self, version: str, min_version: str, max_version: str) -> None:
        super().__init__(version=version)
        self.bounds = {'max_version': max_version, 'min_version': min_version}


# Malformed requests (specification: http, "Request content").


class MalformedJSON(BadRequest):
    message = 'Malformed JSON: {reason}'


class Invalid(BadRequest):
    """A request that a JSON schema does not allow; the reason quotes the schema and the value."""

    max_length = 20_000


class InvalidBody(Invalid):
    message = 'JSON does not validate: {reason}'


class InvalidQuery(Invalid):
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
    """Another request changed data that the client, or the service for it, had read."""

    code = CONCURRENT_UPDATE


class TooManyConflicts(ConcurrentUpdate):
    """The database refused every attempt because of concurrent updates; nothing was changed."""

    message = (
        'update conflict: the database kept refusing after {retries} retries because of '
        'concurrent updates; please try again'
    )


class DuplicateKey(Conflict):
    message = (
        'The database has one of these names or uuids already, perhaps in another spelling; '
        'nothing was changed.'
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

    Without `replaced`, errors of that kind get the text. The same error may have another meaning
    elsewhere: a missing provider in the path is a 404, in a claim it is a bad request.
    """
    caught = replaced or (kind,)
    try:
        yield
    except caught as error:
        raise kind(f'{prefix}{error}{suffix}') from error
