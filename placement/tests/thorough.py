# SPDX-License-Identifier: Apache-2.0
"""How much tests try that make their cases at random: all of it in CI, a quarter elsewhere.

PLACEMENT_TEST_THOROUGH=1 asks for all of it, as ``.ci/run`` does.
"""

import os

THOROUGH = os.environ.get('PLACEMENT_TEST_THOROUGH') == '1'


def examples(number: int) -> int:
    """How many of so many random cases a test tries."""
    return number if THOROUGH else -(-number // 4)
