# SPDX-License-Identifier: Apache-2.0
"""What functional tests of the core have."""

from placement.tests.functional.conftest import (
    brief_patience,
    client,
    database,
    execute,
    options,
    patience,
    pytest_configure,
    service,
    stored,
    url,
)

__all__ = [
    'brief_patience',
    'client',
    'database',
    'execute',
    'options',
    'patience',
    'pytest_configure',
    'service',
    'stored',
    'url',
]
