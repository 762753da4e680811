# SPDX-License-Identifier: Apache-2.0
"""The cloud, or a part of it, as YAML."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import itertools
import pathlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from osc_lib.command import command

from osc_placement_insight import exported
from osc_placement_insight.commands import base
from osc_placement_insight.providers import get_provider
from osc_placement_insight.replaced_file import replacing
from osc_placement_insight.service import Service

PROVIDERS, CONSUMERS = '/insight/providers', '/insight/consumers'
INCLUDE = ('include', 'inventories,usages,traits,aggregates')
PAGE_LIMIT = ('page_limit', '1000')

Pages = Iterator[Sequence[exported.Element]]


@base.example('placement export --tree compute-17')
class Export(command.Command):
    """Write the cloud, or a part of it, as YAML.

    Providers come with their generations, parents, inventories, usages, traits and aggregates,
    consumers with their allocations. Each page is of one moment, the whole is not: others may
    write meanwhile.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--file',
            metavar='<path>',
            type=pathlib.Path,
            help='write this file, which is replaced once all is written, instead of printing',
        )
        parser.add_argument(
            '--tree',
            metavar='<uuid or name>',
            help='only the tree of this provider',
        )
        parser.add_argument(
            '--aggregate',
            metavar='<uuid>',
            action='append',
            default=[],
            help='only providers that are members of this aggregate themselves; several: of any',
        )
        parser.add_argument(
            '--required',
            metavar='<trait>',
            action='append',
            default=[],
            help='only providers with this trait; several: with all of them',
        )
        parser.add_argument(
            '--without-consumers',
            action='store_true',
            help='leave out consumers and their allocations',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        path = parsed_args.file
        is_shown = path is not None or not sys.stdout.isatty()
        with base.asking(self, 'exporting the cloud', is_shown) as service:
            query = _query(service, parsed_args)
            output = contextlib.nullcontext(sys.stdout) if path is None else replacing(path)
            with output as stream:
                counts = _write(stream, service, query, not parsed_args.without_consumers)
        if path is not None:
            counted = ' and '.join(f'{number} {name}' for name, number in counts.items())
            print(f'Wrote {counted} to {path}.')


def _query(service: Service, wanted: argparse.Namespace) -> dict[str, list[str]]:
    """The filters of the export, in the query of `GET /insight/providers`."""
    query: dict[str, list[str]] = {}
    if wanted.tree is not None:
        query['in_tree'] = [get_provider(service, wanted.tree)['uuid']]
    if wanted.aggregate:
        query['member_of'] = [f'in:{",".join(wanted.aggregate)}']
    if wanted.required:
        query['required'] = [','.join(wanted.required)]
    return query


def _write(
    stream: TextIO, service: Service, query: Mapping[str, Sequence[str]], with_consumers: bool
) -> dict[str, int]:
    """Write an export; return how many elements each list has."""
    restrictions = [(name, value) for name, values in query.items() for value in values]
    answers = service.pages(PROVIDERS, [INCLUDE, PAGE_LIMIT, *restrictions])
    # The first page is read before anything is written: it has the token.
    first = next(answers)
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec='seconds')
    exported.write_header(stream, now, query, first['token'])
    used: list[str] = []
    pages = _providers(service, itertools.chain([first], answers), used)
    counts = {exported.PROVIDERS: exported.write_list(stream, exported.PROVIDERS, pages)}
    if with_consumers:
        found = _consumers_of(service, used) if query else _all_consumers(service)
        counts[exported.CONSUMERS] = exported.write_list(stream, exported.CONSUMERS, found)
    return counts


def _providers(service: Service, answers: Iterable[Any], used: list[str]) -> Pages:
    """The pages of providers; appends to `used` the uuids of those that consumers use."""
    length = 0
    for answer in answers:
        page = answer[exported.PROVIDERS]
        used += [one['uuid'] for one in page if any(one['usages'].values())]
        length += len(page)
        service.tell(f'exporting the cloud: {length} providers')
        yield page


def _all_consumers(service: Service) -> Pages:
    """The pages of all consumers."""
    length = 0
    for answer in service.pages(CONSUMERS, [PAGE_LIMIT]):
        page = answer[exported.CONSUMERS]
        length += len(page)
        service.tell(f'exporting the cloud: {length} consumers')
        yield page


def _consumers_of(service: Service, providers: Sequence[str]) -> Pages:
    """The pages of the consumers of some providers; each consumer is on one of them."""
    # To remember the providers takes less memory than to remember the consumers told.
    known = set(providers)
    for number, provider in enumerate(providers, 1):
        service.tell(f'exporting the consumers of {number} of {len(providers)} providers')
        for answer in service.pages(CONSUMERS, [('provider', provider), PAGE_LIMIT]):
            yield [
                consumer
                for consumer in answer[exported.CONSUMERS]
                if provider == min(known.intersection(consumer['allocations']), default=provider)
            ]
