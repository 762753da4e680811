# SPDX-License-Identifier: Apache-2.0
"""The command that lists the consumers of the cloud and their resources."""

from __future__ import annotations

import argparse
import collections
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from osc_lib.command import command

from osc_placement_insight import argument_types, cells
from osc_placement_insight.commands import base
from osc_placement_insight.providers import get_provider

PATH = '/insight/consumers'
PAGE = ('page_limit', '1000')
COLUMNS = ('uuid', 'consumer_type', 'project_id', 'user_id', 'created_at', 'resources')


@base.example('placement consumer list --type MIGRATION --older-than 1d')
class ListConsumers(command.Lister):
    """List consumers, such as servers, with what they hold.

    A consumer is listed that meets every option. With --provider the resources are those that it
    holds of this provider, otherwise those that it holds in all.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--provider', metavar='<provider>', help='consumers of one provider (UUID or name)'
        )
        parser.add_argument('--project', metavar='<id>', help='consumers of one project')
        parser.add_argument('--user', metavar='<id>', help='consumers of one user')
        parser.add_argument(
            '--type', metavar='<type>', help='consumers of one type; unknown for those without'
        )
        parser.add_argument(
            '--older-than',
            metavar='<age or time>',
            type=argument_types.moment,
            help='consumers that were made before: an age such as 12h or 30d, or a time in '
            'ISO 8601, by default in UTC',
        )
        parser.add_argument(
            '--newer-than',
            metavar='<age or time>',
            type=argument_types.moment,
            help='consumers that were made since, in the same forms',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        named = {
            'project_id': parsed_args.project,
            'user_id': parsed_args.user,
            'type': parsed_args.type,
            'older_than': parsed_args.older_than,
            'newer_than': parsed_args.newer_than,
        }
        with base.asking(self, 'listing consumers') as service:
            if parsed_args.provider is not None:
                named['provider'] = get_provider(service, parsed_args.provider)['uuid']
            query = [PAGE, *((name, value) for name, value in named.items() if value is not None)]
            consumers = [one for page in service.pages(PATH, query) for one in page['consumers']]
        rows = [_row(consumer, named.get('provider')) for consumer in consumers]
        return COLUMNS, cells.as_shown(rows, parsed_args.formatter)


def _row(consumer: Mapping[str, Any], provider: str | None) -> list[Any]:
    """The values of `COLUMNS`, with what is held of one provider, or of all."""
    held: collections.Counter[str] = collections.Counter()
    for uuid, allocation in consumer['allocations'].items():
        if provider in (None, uuid):
            held.update(allocation['resources'])
    return [*(consumer[name] for name in COLUMNS[:-1]), dict(held)]
