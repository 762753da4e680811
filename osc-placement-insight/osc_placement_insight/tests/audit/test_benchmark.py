# SPDX-License-Identifier: Apache-2.0
"""The benchmark of audits measures what it says."""

import pytest

from osc_placement_insight.tests.audit import benchmark


def test_it_finds_and_mends_two_of_each_hundred_servers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    benchmark.main(200)

    first, audit, repair, _audit, last = capsys.readouterr().out.splitlines()
    assert first == '200 servers on 20 hosts'
    assert audit.startswith('audit: ')
    assert repair.startswith('repair of 4 of 4 findings: ')
    assert last == '0 findings are left'
