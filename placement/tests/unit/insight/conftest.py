# SPDX-License-Identifier: Apache-2.0
"""The empty cloud that tests of objects have."""

from placement.tests.unit.objects.conftest import cloud

__all__ = ['cloud']
