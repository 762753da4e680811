# SPDX-License-Identifier: Apache-2.0
"""In whatever order ids of the feed are given out and committed, followers miss nothing."""

import collections

import hypothesis
import pytest

from placement.db.engine.database import Database
from placement.db.mode import Mode
from placement.feed import change_feed as change_feed_module
from placement.feed import position as position_module
from placement.tests.functional.fixtures.feed_cluster import Cluster, Rows, Values, sequences
from placement.tests.thorough import examples
from placement_insight.bulk import follower as follower_module
from placement_insight.bulk.follower import (
    MAX_LAG_SECONDS,
    FollowedFeed,
    FollowerToken,
    Interruption,
)

FOLLOWERS = 3

# How many of the last states a node of a cluster may still be in.
LAG = 4


class Followers(Cluster):
    """Followers that read the values of changed providers, a page at a time."""

    providers = 8

    def __init__(self, database: Database, nodes: int, limit: int) -> None:
        #: The last states of the database, of which a node behind may show any.
        self.states: list[tuple[Rows, Values]] = []
        super().__init__(database, nodes)
        self.limit = limit
        self.seconds = 0.0
        self.known: list[Values] = [{} for _ in range(FOLLOWERS)]
        self.tokens_of = ['' for _ in range(FOLLOWERS)]
        for number in range(FOLLOWERS):
            self._read_everything(number)

    def commit(self, number: int) -> None:
        super().commit(number)
        self._note_state()

    def prune(self, number: int) -> None:
        super().prune(number)
        self._note_state()

    def restore(self, number: int) -> None:
        super().restore(number)
        # All nodes are restored.
        self.states = []

    def empty(self, number: int) -> None:
        super().empty(number)
        if number == 0:
            self.states = []

    def _note_state(self) -> None:
        self.states = [*self.states, (self.rows(), self.values)][-LAG:]

    def follow(self, number: int) -> None:
        """Read one page, and have the cloud where it was the last one."""
        number %= FOLLOWERS
        if self._read_page(number, self.values):
            assert self.known[number] == self.values

    def follow_a_node_behind(self, number: int) -> None:
        """Read a page of a node that has not applied the last commits."""
        if self.states:
            rows, values = self.states[number % len(self.states)]
            now = self.rows()
            self.replace(rows)
            self._read_page(number % FOLLOWERS, values)
            self.replace(now)

    def follow_to_the_end(self, number: int) -> None:
        """Read page after page, with the time that a restore takes to be noticed."""
        for _ in range(1_000):
            if self._read_page(number, self.values):
                break
            self.seconds += MAX_LAG_SECONDS / 10
        assert self.known[number] == self.values

    def _read_page(self, number: int, values: Values) -> bool:
        """Whether a page was read behind which there was no other."""
        self.seconds += 1
        token = FollowerToken.decoded(self.tokens_of[number])
        with self.database.begin(Mode.READ_ONE_MOMENT) as connection:
            feed = FollowedFeed(connection, self.seconds)
            is_unchanged = feed.is_unchanged(token)
            batch = feed.read(token, self.limit)
        if isinstance(batch, Interruption):
            assert not is_unchanged
            self.found[batch.name] += 1
            if batch is Interruption.LOST:
                self._read_everything(number, values)
            return batch is Interruption.LOST
        assert len(batch.changes) <= self.limit
        if is_unchanged:
            assert not batch.changes
            # Which would otherwise show a moment before that of the token.
            assert self.known[number] == values
        self.found['told'] += bool(batch.changes)
        for provider_id, _uuid in batch.changes:
            self.known[number][provider_id] = values[provider_id]
        self.tokens_of[number] = batch.token.encoded()
        return not batch.token.has_more

    def _read_everything(self, number: int, values: Values | None = None) -> None:
        with self.database.begin(Mode.READ_ONE_MOMENT) as connection:
            token = FollowedFeed(connection, self.seconds).token()
        self.known[number] = dict(self.values if values is None else values)
        self.tokens_of[number] = token.encoded()


@pytest.mark.parametrize('limit', [2, 100])
@pytest.mark.parametrize('window', [4, 16])
@pytest.mark.parametrize('nodes', [1, 3])
def test_each_follower_has_what_was_committed_before(
    database: Database, nodes: int, window: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower_module, 'WINDOW', window)
    monkeypatch.setattr(follower_module, 'ENTRIES_FOR_EACH', 2)
    monkeypatch.setattr(position_module, 'BLOCK', 12 * nodes)
    monkeypatch.setattr(change_feed_module, 'MAX_LATE', 3)
    found: collections.Counter[str] = collections.Counter()

    @hypothesis.settings(max_examples=examples(10))
    @hypothesis.given(sequences(follow=4, follow_a_node_behind=2))
    def run(events: list[tuple[str, int]]) -> None:
        followers = Followers(database, nodes, limit)
        for name, number in events:
            getattr(followers, name)(number)
        for number in range(FOLLOWERS):
            followers.follow_to_the_end(number)
        found.update(followers.found)

    run()
    assert set(found) >= {'told', 'BEHIND', 'LOST'}
