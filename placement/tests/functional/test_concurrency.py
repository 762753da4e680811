# SPDX-License-Identifier: Apache-2.0
"""32 clients and 4 worker processes: what is acknowledged is kept, and nothing more is taken."""

from . import consistency_check
from .fixtures import databases, workers


def test_usage_equals_acknowledged_claims_and_never_exceeds_capacity(url: str) -> None:
    with workers.running(url) as cluster:
        consistency_check.build(cluster)
        run = consistency_check.ConsistencyCheck(url, cluster.port)
        run.run()
        run.check()
        print(f'{databases.backend()}: {dict(run.account.answers)}, {run.samples} samples')
        assert run.account.answers['done'] > consistency_check.REQUESTS / 4
        assert run.account.answers['full'] > 0, 'the hosts were never full'
        assert run.samples > 0
        assert 'deadlock' not in cluster.log().lower()
