# SPDX-License-Identifier: Apache-2.0
"""How much tests try that make their cases at random.

Half of it in CI on SQLite, a quarter there on each server of databases, to which most of it makes
no difference, and an eighth elsewhere.

PLACEMENT_TEST_THOROUGH=1 asks for half of it, as ``.ci/run`` does, 2 for all, and 20 for ten times
as much.
"""

import os

THOROUGH = int(os.environ.get('PLACEMENT_TEST_THOROUGH') or 0)
ON_SERVER = 'PLACEMENT_TEST_DATABASE_URL' in os.environ


def examples(number: int) -> int:
    """How many of so many random cases a test tries."""
    return -(-number * THOROUGH // (4 if ON_SERVER else 2)) if THOROUGH else -(-number // 8)
