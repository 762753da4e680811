# SPDX-License-Identifier: Apache-2.0
"""Flavors are found as nova has them."""

from collections.abc import Iterator

import pytest
from keystoneauth1 import adapter, session, token_endpoint

from osc_placement_insight.compute import Compute
from osc_placement_insight.flavor_list import find_flavor, list_flavors
from osc_placement_insight.tests.audit import nova
from osc_placement_insight.tests.audit.clouds import running_nova
from osc_placement_insight.tests.audit.nova import Nova


@pytest.fixture
def compute() -> Iterator[Compute]:
    """A nova with flavors, of which it shows two at once."""
    known = Nova(max_limit=2)
    for name in ('m1.large', 'm1/small', 'gpu'):
        known.flavors.append(nova.flavor(4, 8192, 40, name=name, resources__VGPU='1'))
    with running_nova(known) as url:
        client = session.Session(token_endpoint.Token(url, 'admin'))
        yield Compute(adapter.Adapter(client, endpoint_override=url))


def test_all_pages_are_listed(compute: Compute) -> None:
    assert [one.name for one in list_flavors(compute)] == ['m1.large', 'm1/small', 'gpu']


@pytest.mark.parametrize(
    ('name', 'found'),
    [('gpu', 'gpu'), ('m1/small', 'm1/small'), ('0', 'm1.large'), ('m1', None)],
)
def test_a_flavor_is_found_by_its_name_or_id(
    compute: Compute, name: str, found: str | None
) -> None:
    flavor = find_flavor(compute, name)

    assert (flavor and flavor.name) == found
    assert flavor is None or flavor.extra_specs == {'resources:VGPU': '1'}
