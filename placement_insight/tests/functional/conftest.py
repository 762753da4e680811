# SPDX-License-Identifier: Apache-2.0
"""What functional tests of the core have."""

from placement.tests.functional.conftest import (
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
