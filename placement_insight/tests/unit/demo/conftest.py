# SPDX-License-Identifier: Apache-2.0
"""A database in a file that commands find through their environment."""

from placement.tests.unit.cmd.conftest import engine, url

__all__ = ['engine', 'url']
