# SPDX-License-Identifier: Apache-2.0
"""While any story is told, searches see after each request all that it has changed, and no more.

These are the stories of gabbits/ once more.  What they should be answered is for `test_api` to
say; here a worker beside the service is asked after every request what it knows.
"""

import pathlib

import pytest
from gabbi import reporter

from placement import deploy
from placement.conf import ConfigOpts
from placement.db.engine.database import Database

from . import test_api
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


@pytest.mark.parametrize('path', test_api.STORIES, ids=[path.stem for path in test_api.STORIES])
def test_searches_see_what_a_story_has_changed(
    path: pathlib.Path, watches: list[freshness.Watch]
) -> None:
    story = test_api.load_story(path)
    result = reporter.PyTestResult()
    story.start(result)
    try:
        for request in story:
            request(result)
    finally:
        story.stop()

    assert [line for watch in watches for line in watch.stale] == []
    assert sum(watch.checks for watch in watches) >= len(list(story))
