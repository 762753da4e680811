# SPDX-License-Identifier: Apache-2.0
"""Insight as an extension of the service.

Functions import the parts of insight when they are called, so that a command loads only the parts
that it uses.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from placement.conf import ConfigOpts
from placement.extension import Extension, Fragments
from placement_insight import counters, options, rules

if TYPE_CHECKING:
    from placement.db.engine.database import Database
    from placement.feed.gauges import ReadGauges
    from placement.feed.keeper import SnapshotKeeper
    from placement.http.route import AddedRoute
    from placement.http.service import WorkerPart
    from placement.middleware import Middleware


def _routes() -> Sequence[AddedRoute]:
    from placement_insight.routes import ROUTES

    return ROUTES


def _worker_parts(conf: ConfigOpts, database: Database) -> Sequence[WorkerPart]:
    from placement_insight.questions import Insight

    return [Insight.from_conf(conf, database)]


def _middleware(conf: ConfigOpts) -> Sequence[Middleware]:
    from placement_insight.page import Page

    return [functools.partial(Page, cloud_name=conf.ui.cloud_name)] if conf.ui.enabled else []


def _gauges(conf: ConfigOpts, database: Database) -> Sequence[ReadGauges]:
    from placement_insight.gauges import PromiseGauges, RequestGauges

    return [RequestGauges(conf, database), PromiseGauges(conf, database)]


def _exporter_gauges(
    conf: ConfigOpts, snapshots: SnapshotKeeper
) -> contextlib.AbstractContextManager[Sequence[ReadGauges]]:
    from placement_insight.gauges import exporter_gauges

    return exporter_gauges(conf, snapshots)


def _page(conf: ConfigOpts) -> str | None:
    return '/ui/' if conf.ui.enabled else None


def _fragments() -> Fragments:
    from placement_insight.fragments import load_fragments

    return load_fragments()


EXTENSION = Extension(
    options=options.GROUPS,
    rules=rules.RULES,
    metrics=counters.METRICS,
    newest_below='/insight',
    routes=_routes,
    worker_parts=_worker_parts,
    middleware=_middleware,
    gauges=_gauges,
    exporter_gauges=_exporter_gauges,
    fragments=_fragments,
    trial_options=(('ui', 'enabled'),),
    page=_page,
)
