# SPDX-License-Identifier: Apache-2.0
"""After each request of any gabbi file, searches see all that it has changed, and no more.

These are the files of gabbits/ once more.  `test_gabbi` checks the answers; here the snapshot of a
second worker is compared with the database after every request.
"""

import pathlib

import pytest
from gabbi import reporter

from placement import deploy
from placement.conf import ConfigOpts
from placement.db.engine.database import Database

from . import test_gabbi
from .fixtures import freshness


@pytest.fixture
def watches(monkeypatch: pytest.MonkeyPatch) -> list[freshness.Watch]:
    """The watches over the services that are started from now on."""
    watches: list[freshness.Watch] = []
    application_on = deploy.application_on

    def watched(database: Database, config: ConfigOpts) -> object:
        watches.append(freshness.Watch(database))
        return watches[-1].around(application_on(database, config))

    monkeypatch.setattr(deploy, 'application_on', watched)
    return watches


@pytest.mark.parametrize(
    'path', test_gabbi.GABBI_FILES, ids=[path.stem for path in test_gabbi.GABBI_FILES]
)
def test_searches_see_what_gabbi_tests_have_changed(
    path: pathlib.Path, watches: list[freshness.Watch]
) -> None:
    suite = test_gabbi.load_suite(path)
    result = reporter.PyTestResult()
    suite.start(result)
    try:
        for request in suite:
            request(result)
    finally:
        suite.stop()

    assert [line for watch in watches for line in watch.stale] == []
    assert sum(watch.checks for watch in watches) >= len(list(suite))
