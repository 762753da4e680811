# SPDX-License-Identifier: Apache-2.0
"""What was asked for in vain."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from osc_lib.command import command

from osc_placement_insight import cells
from osc_placement_insight.commands import base

PATH = '/insight/unmet_demand'
COLUMNS = ('times', 'last_at', 'verdict', 'query', 'reason', 'request_ids')


class ListUnmetDemand(command.Lister):
    """List searches for allocation candidates that found nothing.

    Searches that ask for the same are one row, the newest first. With the id of a
    request to nova, which "openstack server event list" shows, the searches of that request are
    listed one by one.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--since',
            metavar='<time>',
            help='only what was searched for at this time or later, ISO 8601, by default in UTC',
        )
        parser.add_argument(
            '--request',
            metavar='<req-...>',
            help='only the searches of this request id of the client, such as nova',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        named = {'since': parsed_args.since, 'global_request_id': parsed_args.request}
        query = [(name, value) for name, value in named.items() if value is not None]
        with base.asking(self, 'listing unmet demand') as service:
            found = [
                demand for page in service.pages(PATH, query) for demand in page['unmet_demand']
            ]
        rows = [[demand[name] for name in COLUMNS] for demand in found]
        return COLUMNS, cells.as_shown(rows, parsed_args.formatter)
