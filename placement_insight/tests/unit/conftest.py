# SPDX-License-Identifier: Apache-2.0
"""What unit tests of the core have, and the empty cloud that those of objects have."""

from placement.tests.unit.conftest import conf, database, logging_as_before, recorder
from placement.tests.unit.objects.conftest import cloud

__all__ = ['cloud', 'conf', 'database', 'logging_as_before', 'recorder']
