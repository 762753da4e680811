# SPDX-License-Identifier: Apache-2.0
"""The command that lists unmet searches."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from osc_lib.command import command

from osc_placement_insight import argument_types, cells
from osc_placement_insight.commands import base
from osc_placement_insight.explanation import VERDICTS

PATH = '/insight/unmet_demand'
COLUMNS = ('times', 'last_at', 'verdict', 'query', 'reason', 'request_ids')
NAME_COLUMNS = ('times', 'last_at', 'kind', 'name')


@base.example('placement unmet demand list --since 1d')
class ListUnmetDemand(command.Lister):
    """List searches for allocation candidates that found nothing.

    Searches that ask for the same are one row, the newest first; "full now" would fit if nothing
    were used, "never fits" not even then, and "refused" are those that name a class or trait that
    does not exist; in formats for programs these are full and infeasible. With the id of a
    request to nova, which "openstack server event list" shows, the searches of that request are
    listed one by one.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--since',
            metavar='<age or time>',
            type=argument_types.moment,
            help='only what was searched for since then: an age such as 1h or 7d, or a time in '
            'ISO 8601, by default in UTC',
        )
        parser.add_argument(
            '--request',
            metavar='<req-...>',
            help='only the searches of this request id of the client, such as nova',
        )
        parser.add_argument(
            '--unknown-names',
            action='store_true',
            help='in place of searches, the classes and traits they name that do not exist',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        named = {'since': parsed_args.since, 'global_request_id': parsed_args.request}
        query = [(name, value) for name, value in named.items() if value is not None]
        columns = NAME_COLUMNS if parsed_args.unknown_names else COLUMNS
        with base.asking(self, 'listing unmet demand') as service:
            pages = service.pages(PATH, query)
            if parsed_args.unknown_names:
                # Each page has all of them.
                found = next(iter(pages))['unknown_names']
            else:
                found = [demand for page in pages for demand in page['unmet_demand']]
        if parsed_args.formatter == 'table' and not parsed_args.unknown_names:
            found = [{**one, 'verdict': VERDICTS[one['verdict']]} for one in found]
        rows = [[one[name] for name in columns] for one in found]
        return columns, cells.as_shown(rows, parsed_args.formatter)
