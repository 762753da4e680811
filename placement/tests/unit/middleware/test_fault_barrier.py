# SPDX-License-Identifier: Apache-2.0
"""Errors that nobody expected (specification: http, "Failures of the service")."""

import pytest

from placement.middleware import fault_barrier, request_log
from placement.tests.unit.middleware.samples import Inner, ask, error_of


def test_an_exception_becomes_an_error_of_500_and_a_traceback_in_the_log(
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
    assert 'by nothing' in error['detail']
    assert error['request_id'] == response.headers['x-openstack-request-id']
    assert 'openstack-api-version' not in response.headers
    assert 'ZeroDivisionError' in caplog.text


def test_an_answer_passes_as_it_is() -> None:
    inner = Inner(headers=(('x-one', '1'),))
    response = ask(fault_barrier.FaultBarrier(inner))

    assert response.status_int == 204
    assert response.headerlist == [('x-one', '1')]


def test_what_stops_the_process_is_not_held_back() -> None:
    def stop(environ, start_response):  # type: ignore[no-untyped-def]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(fault_barrier.FaultBarrier(stop))
