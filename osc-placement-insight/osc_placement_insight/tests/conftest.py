# SPDX-License-Identifier: Apache-2.0
"""Services that the commands can ask, without a socket."""

from collections.abc import Iterator
from typing import Any

import pytest
from oslo_config import fixture as config_fixture

from osc_placement_insight.tests import client
from osc_placement_insight.tests.client import Client
from placement.tests.functional.fixtures.placement import PlacementFixture


class Service(PlacementFixture):
    """A service with a history, which is off by default, and with these options besides."""

    def __init__(self, options: dict[tuple[str, str], Any] | None = None) -> None:
        super().__init__()
        self._options = {('history', 'enabled'): True, **(options or {})}

    def _configure_placement(self, conf_fixture: config_fixture.Config) -> None:
        super()._configure_placement(conf_fixture)
        for (group, option), value in self._options.items():
            conf_fixture.config(group=group, **{option: value})


def running() -> Iterator[Service]:
    """An empty cloud."""
    with Service() as service:
        yield service


service = pytest.fixture(running)


@pytest.fixture
def openstack(service: Service) -> Client:
    """The client of an administrator of that cloud."""
    return client.administrator_at(service.endpoint)
