# SPDX-License-Identifier: Apache-2.0
"""The change feed, and the snapshot that every worker updates from it.

Writers append to the feed with `change_feed.ChangeFeed.record`; searches get their snapshot from
`keeper.SnapshotKeeper`. The page ``doc/source/change-feed.rst`` explains how both work together.
"""
