# SPDX-License-Identifier: Apache-2.0
"""Which microversion the client asks a service for."""

import pytest

from placement_report_client import errors
from placement_report_client.tests.scripted import (
    NEWEST,
    Scripted,
    answer,
    error,
    report,
    versions,
)


@pytest.mark.parametrize(('newest', 'used'), [(NEWEST, NEWEST), ('1.7', '1.7'), ('1.999', NEWEST)])
def test_newest_common_version_is_used(newest: str, used: str) -> None:
    service = Scripted(answer(204), answer(204), newest=newest)
    client = report(service)
    client.ensure_resource_class('CUSTOM_A')
    client.within(5).ensure_resource_class('CUSTOM_B')
    # The versions of the service are asked for once.
    assert [sent.version for sent in service.sent] == [None, *[f'placement {used}'] * 2]
    assert str(client.microversion()) == used


def test_service_without_common_version_raises_too_old() -> None:
    service = Scripted(versions('2.5', '2.0'), newest=None)
    with pytest.raises(errors.TooOld, match=f'up to {NEWEST}, .*from 2.0 to 2.5'):
        report(service).microversion()


def test_missing_feature_is_named_before_anything_is_sent() -> None:
    service = Scripted(newest='1.27')
    with pytest.raises(errors.TooOld) as caught:
        report(service).find_allocations('consumer')
    assert str(caught.value) == (
        'the call needs microversion 1.28 and the service supports 1.27 at most; '
        'missing: allocations guarded by a generation (1.28)'
    )
    assert service.lines() == []


def test_406_makes_the_client_request_the_versions_again_once() -> None:
    service = Scripted(error(406), versions('1.30'), answer(204), error(406), versions('1.30'),
                       error(406))  # fmt: skip
    client = report(service)
    client.ensure_resource_class('CUSTOM_A')
    assert [sent.version for sent in service.sent] == [
        None, f'placement {NEWEST}', None, 'placement 1.30'
    ]  # fmt: skip
    with pytest.raises(errors.Refused):
        client.ensure_resource_class('CUSTOM_A')
    assert service.steps == []


@pytest.mark.parametrize(
    'body', [{}, {'versions': []}, [], 'text', {'versions': [{'min_version': 'x'}]}, b'<html>']
)
def test_malformed_version_document_raises_unreachable(body: object) -> None:
    service = Scripted(*[answer(body=body) for _ in range(6)], newest=None)
    with pytest.raises(errors.Unreachable, match='placement service'):
        report(service).microversion()
