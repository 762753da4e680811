# SPDX-License-Identifier: Apache-2.0
"""The command that lists usage by project or user."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from osc_lib.command import command

from osc_placement_insight import cells
from osc_placement_insight.commands import base

PATH = '/insight/usages'
PAGE = ('page_limit', '1000')
#: The member that names each element, by what usage is summed by.
NAMES = {
    'project': 'project_id',
    'user': 'user_id',
    'type': 'consumer_type',
    'aggregate': 'aggregate',
}


@base.example('placement usage list --by user')
class ListUsages(command.Lister):
    """List what is used by each project, user or type of consumer, or in each aggregate.

    Each resource class has a column: "--sort-column VCPU --sort-descending" begins with who uses
    most. Providers may be in several aggregates, so that sums by aggregate do not add up.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('--by', choices=[*NAMES], default='project', help='project by default')
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        with base.asking(self, 'adding up usage') as service:
            pages = service.pages(PATH, [('by', parsed_args.by), PAGE])
            usages = [usage for page in pages for usage in page['usages']]
        classes = sorted({name for usage in usages for name in usage['resources']})
        name = NAMES[parsed_args.by]
        rows = [
            [
                usage[name],
                usage['consumer_count'],
                *(usage['resources'].get(resource_class, 0) for resource_class in classes),
            ]
            for usage in usages
        ]
        columns = (name, 'consumer_count', *classes)
        return columns, cells.as_shown(rows, parsed_args.formatter)
