# SPDX-License-Identifier: Apache-2.0
"""The command that lists changes with their callers."""

from __future__ import annotations

import argparse
import itertools
from typing import Any

from osc_placement_insight import argument_types, history_entries
from osc_placement_insight.commands import base
from osc_placement_insight.providers import get_provider, is_uuid
from osc_placement_insight.service import Service

PATH = '/insight/history'
#: How many rows are listed where the user says nothing else, and the largest number of one page.
DEFAULT_LIMIT = 100
LARGEST_PAGE = 1000


@base.example('placement history list --provider compute-17 --since 7d')
class ListHistory(base.AnswerCommand):
    """List who changed what: each request, and the state of what it touched afterwards.

    The last change comes first. An operator has to set [history] enabled, and by default only
    administrators may ask.

    The formats text (the default), json and yaml have the rows of one request together; table, csv
    and value have a row for each provider, consumer, resource class or trait that was changed.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        about = parser.add_mutually_exclusive_group()
        about.add_argument(
            '--provider', metavar='<provider>', help='changes of one provider (UUID or name)'
        )
        about.add_argument(
            '--consumer', metavar='<uuid>', help='changes of one consumer, such as a server'
        )
        parser.add_argument(
            '--request', metavar='<req-...>', help='by this request of the client, such as nova'
        )
        parser.add_argument(
            '--service-request',
            metavar='<req-...>',
            help='by this request in the log of the service',
        )
        parser.add_argument(
            '--since',
            metavar='<age or time>',
            type=argument_types.moment,
            help='only changes since then: an age such as 1h or 7d, or a time in ISO 8601, by '
            'default in UTC',
        )
        parser.add_argument(
            '--limit',
            metavar='<rows>',
            type=argument_types.count,
            default=DEFAULT_LIMIT,
            help=f'at most so many rows, {DEFAULT_LIMIT} by default; 0 for all there are',
        )
        return parser

    def ask(self, parsed_args: argparse.Namespace) -> base.Shown:
        named = {
            'consumer': parsed_args.consumer,
            'global_request_id': parsed_args.request,
            'request_id': parsed_args.service_request,
            'since': parsed_args.since,
        }
        with base.asking(self, 'reading the history') as service:
            if parsed_args.provider is not None:
                named['provider'] = _uuid(service, parsed_args.provider)
            limit = parsed_args.limit or None
            query = [(name, value) for name, value in named.items() if value is not None]
            query.append(('page_limit', str(min(limit or LARGEST_PAGE, LARGEST_PAGE))))
            entries = [*itertools.islice(_entries(service, query), limit)]
        return base.Shown(
            {'history': entries},
            text=[*history_entries.lines(entries)],
            columns=history_entries.COLUMNS,
            rows=[*map(history_entries.row, entries)],
        )


def _entries(service: Service, query: list[tuple[str, str]]) -> Any:
    return itertools.chain.from_iterable(page['history'] for page in service.pages(PATH, query))


def _uuid(service: Service, uuid_or_name: str) -> str:
    """The uuid of a provider; one that was deleted can be named by its uuid alone."""
    if is_uuid(uuid_or_name):
        return uuid_or_name
    return str(get_provider(service, uuid_or_name)['uuid'])
