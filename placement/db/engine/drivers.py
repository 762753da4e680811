# SPDX-License-Identifier: Apache-2.0
"""The drivers of the databases, which extras of this distribution bring."""

import sqlalchemy as sa

from placement.conf import DISTRIBUTION

# The extra that brings the driver of a backend.
_EXTRAS = {'mysql': 'mysql', 'mariadb': 'mysql', 'postgresql': 'postgresql'}


class MissingDriverError(Exception):
    """The driver of a database cannot be imported: the reason, and what to install."""

    def __init__(self, url: sa.URL, error: Exception) -> None:
        extra = _EXTRAS.get(url.get_backend_name())
        package = f"'{DISTRIBUTION}[{extra}]'" if extra else 'the driver'
        self.reason = f'{url.drivername} cannot be used: {error}'
        self.remedy = f'Run pip install {package}.'
        super().__init__(f'{self.reason}. {self.remedy}')


def check(url: str | sa.URL) -> sa.URL:
    """Import the driver that a URL names, and return the URL.

    :raises MissingDriverError: it cannot be imported
    :raises sqlalchemy.exc.ArgumentError: this is no URL
    """
    parsed = sa.make_url(url)
    try:
        parsed.get_dialect().import_dbapi()
    except (ImportError, sa.exc.NoSuchModuleError) as error:
        raise MissingDriverError(parsed, error) from error
    return parsed
