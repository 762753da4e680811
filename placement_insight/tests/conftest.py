# SPDX-License-Identifier: Apache-2.0
"""Settings of every test: those of the core."""

from placement.tests.conftest import pytest_configure

__all__ = ['pytest_configure']
