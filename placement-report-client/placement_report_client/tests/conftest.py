# SPDX-License-Identifier: Apache-2.0
"""A running service, and somebody who calls it."""

from collections.abc import Iterator

import pytest

from placement.tests.functional import client_services
from placement_report_client.tests.callers import Caller


@pytest.fixture(scope='module')
def service() -> Iterator[str]:
    """The URL of a running service."""
    with client_services.running() as url:
        yield url


@pytest.fixture
def cloud(service: str) -> Iterator[Caller]:
    with Caller(service) as caller:
        yield caller
