# SPDX-License-Identifier: Apache-2.0
"""Which error a refusal is."""

import pytest

from placement_report_client import errors
from placement_report_client.responses import Response
from placement_report_client.tests import scripted


def error_of(
    status: int, code: str | None = None, detail: str = 'It is so.', **options: type
) -> errors.ClientError:
    response = scripted.error(status, code, detail)
    return Response(status, dict(response.headers), response.content).error(**options)


@pytest.mark.parametrize(
    ('status', 'code', 'kind'),
    [
        (400, 'placement.undefined_code', errors.Refused),
        (400, 'placement.resource_provider.not_found', errors.Gone),
        (401, None, errors.Refused),
        (403, 'placement.undefined_code', errors.Refused),
        (404, 'placement.undefined_code', errors.Gone),
        (405, None, errors.Refused),
        (408, None, errors.Unreachable),
        (409, 'placement.concurrent_update', errors.Conflict),
        (409, 'placement.inventory.inuse', errors.InUse),
        (409, 'placement.resource_provider.inuse', errors.InUse),
        (409, 'placement.resource_provider.cannot_delete_parent', errors.InUse),
        (409, 'placement.duplicate_name', errors.NameTaken),
        (409, 'placement.undefined_code', errors.Refused),
        (429, None, errors.Unreachable),
        (500, 'placement.undefined_code', errors.Unreachable),
        (503, None, errors.Unreachable),
    ],
)
def test_status_and_code_select_the_error_class(
    status: int, code: str | None, kind: type[errors.ClientError]
) -> None:
    error = error_of(status, code)
    assert type(error) is kind
    assert (error.status, error.code, error.request_id) == (status, code, 'req-1')
    # The generic sentence before it is left out.
    assert error.message == 'It is so.'
    assert str(error) == 'It is so. (req-1)'


def test_409_without_code_uses_the_given_class() -> None:
    code = 'placement.undefined_code'
    assert type(error_of(409, code, conflict=errors.NoCapacity)) is errors.NoCapacity
    code = 'placement.concurrent_update'
    assert type(error_of(409, code, conflict=errors.NoCapacity)) is errors.Conflict


@pytest.mark.parametrize(
    'detail',
    [
        "Allocation for resource provider 'x' that does not exist.",
        'Object action create failed because: parent provider UUID does not exist.',
    ],
)
def test_400_about_a_missing_provider_is_gone(detail: str) -> None:
    assert type(error_of(400, detail=detail)) is errors.Gone


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        (b'', '502'),
        (b'<html>\n Bad gateway', '502 <html> Bad gateway'),
        (b'{"errors": []}', '502 {"errors": []}'),
        (b'{"errors": ["odd"]}', '502 {"errors": ["odd"]}'),
        (b'[1]', '502 [1]'),
        (b'\xff\xfe', '502 \ufffd\ufffd'),
        (b'x' * 1000, '502 ' + 'x' * 300),
    ],
)
def test_message_of_a_proxy_is_passed_on(content: bytes, message: str) -> None:
    error = Response(502, {}, content).error()
    assert (str(error), error.code, error.request_id) == (message, None, None)


def test_body_that_is_not_json_raises_unreachable() -> None:
    with pytest.raises(errors.Unreachable, match='not a placement service: 200 <html>'):
        Response(200, {}, b'<html>').body()


@pytest.mark.parametrize(('header', 'seconds'), [('3', 3.0), ('soon', 0.0), ('-1', 0.0)])
def test_retry_after_header_is_parsed(header: str, seconds: float) -> None:
    assert Response(503, {'retry-after': header}, b'').error().retry_after == seconds
