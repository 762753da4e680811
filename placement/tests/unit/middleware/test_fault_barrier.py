# SPDX-License-Identifier: Apache-2.0
"""Unexpected exceptions (specification: http, "Failures of the service")."""

import pytest

from placement import errors
from placement.middleware import fault_barrier, request_log
from placement.tests.unit.middleware.samples import Inner, ask, error_of


def test_exception_becomes_a_500_with_fixed_words_and_a_traceback_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    inner = Inner(failure=ZeroDivisionError('by nothing'))
    response = ask(request_log.RequestLog(fault_barrier.FaultBarrier(inner)))
    error = error_of(response)

    assert response.status == '500 Internal Server Error'
    assert response.content_type == 'application/json'
    assert error['status'] == 500
    assert error['title'] == 'Internal Server Error'
    assert error['code'] == 'placement.undefined_code'
    assert error['detail'].strip().endswith(errors.UnexpectedFailure.message)
    assert 'by nothing' not in response.text
    assert error['request_id'] == response.headers['x-openstack-request-id']
    assert 'openstack-api-version' not in response.headers
    assert 'ZeroDivisionError: by nothing' in caplog.text


def test_exception_that_ends_the_process_is_raised() -> None:
    def stop(environ, start_response):  # type: ignore[no-untyped-def]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(fault_barrier.FaultBarrier(stop))
