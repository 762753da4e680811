# SPDX-License-Identifier: Apache-2.0
"""The change feed, and the snapshot that every worker updates from it.

Writers append to the feed with `change_feed.ChangeFeed.record`; searches get their snapshot from
`keeper.SnapshotKeeper`, and `gauges` reads the gauges of the cloud from it. The page
``doc/source/change-feed.rst`` explains how feed and snapshot work together.
"""
