# SPDX-License-Identifier: Apache-2.0
"""What is told of single trees."""

from placement.search.insight.explain import explain_request
from placement.search.model.snapshot import Snapshot
from placement.tests.unit.search.cloud import cloud, parse, provider


def numa() -> Snapshot:
    """Two hosts with VCPU on their NUMA nodes only, the second with less of it used."""
    snapshot = cloud(
        provider('host1', MEMORY_MB=4096),
        provider('node1', 'host1', VCPU=8),
        provider('host2', MEMORY_MB=4096),
        provider('node2', 'host2', VCPU=8),
    )
    return snapshot.with_used({2: {'VCPU': 8}, 4: {'VCPU': 5}})


def test_shortage_is_told_rather_than_that_the_root_has_nothing() -> None:
    answer = explain_request(numa(), parse('resources=VCPU:4'))

    assert [report.root for report in answer.nearest] == ['host2', 'host1']
    assert [one.words for one in answer.nearest[0].failed] == [
        'VCPU: 4 asked, most free 3, largest 8 (used)'
    ]
    (missing,) = answer.nearest[0].missing
    assert (missing.provider, missing.free, missing.used) == ('node2', 3, 5)
