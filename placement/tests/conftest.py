# SPDX-License-Identifier: Apache-2.0
"""Settings of every test."""

import hypothesis

# The same examples each time, and however busy the machine is: no test asserts a time.
hypothesis.settings.register_profile(
    'placement',
    deadline=None,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile('placement')
