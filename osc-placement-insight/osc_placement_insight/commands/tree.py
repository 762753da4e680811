# SPDX-License-Identifier: Apache-2.0
"""A provider tree: what a host has, and how much of it is used."""

from __future__ import annotations

import argparse
from typing import Any

from osc_lib import exceptions

from osc_placement_insight import provider_tree
from osc_placement_insight.commands import base
from osc_placement_insight.provider_tree import Tree
from osc_placement_insight.providers import PATH, get_provider
from osc_placement_insight.service import Query, Service

INCLUDE = ('include', 'inventories,usages,traits,aggregates')
#: The largest number of providers of one page.
PAGE = ('page_limit', '1000')
#: How many aggregates one request may name, so that its URL does not get too long.
AGGREGATES = 100


@base.example('placement tree show compute-17')
class ShowTree(base.AnswerCommand):
    """Show a provider tree: what each provider of it has, and how much of that is used.

    The tree is that of any of its providers. Sharing providers, which the tree reaches by
    aggregates, are shown below it. Leaves that differ by nothing but their names are drawn once.

    The formats text (the default), json and yaml have all of it, and dot is a graph for Graphviz;
    table, csv and value have a row for each inventory.
    """

    formatter_namespace = 'osc_placement_insight.formatter.tree'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'provider', metavar='<provider>', help='a provider of the tree (UUID or name)'
        )
        parser.add_argument(
            '--traits',
            action='store_true',
            help='name all traits, not only custom ones and a few that matter most',
        )
        parser.add_argument(
            '--one-by-one', action='store_true', help='draw providers that are alike each'
        )
        return parser

    def ask(self, parsed_args: argparse.Namespace) -> base.Shown:
        with base.asking(self, 'reading the tree') as service:
            tree = read_tree(service, parsed_args.provider)
        lines = provider_tree.lines(tree, parsed_args.traits, parsed_args.one_by_one)
        return base.Shown(
            tree.answer(),
            text=[*base.encodable(self.app.stdout, lines, provider_tree.ASCII)],
            columns=provider_tree.COLUMNS,
            rows=[*provider_tree.rows(tree)],
            dot=[*provider_tree.dot(tree)],
        )


def read_tree(service: Service, name: str) -> Tree:
    """The tree of a provider, by the name or the uuid of any provider in it.

    :raises osc_lib.exceptions.CommandError: there is none, or it is not any more
    """
    found = get_provider(service, name)
    providers = _providers(service, [('in_tree', found['root_provider_uuid'])])
    if not any(one['parent_provider_uuid'] is None for one in providers):
        raise exceptions.CommandError(f'The tree of {name} has just changed; try again.')
    uuids = {one['uuid'] for one in providers}
    aggregates = sorted({uuid for one in providers for uuid in one['aggregates']})
    sharing = {
        one['uuid']: one
        for start in range(0, len(aggregates), AGGREGATES)
        for one in _sharing(service, aggregates[start : start + AGGREGATES])
        if one['uuid'] not in uuids
    }
    return Tree(providers, [*sharing.values()])


def _sharing(service: Service, aggregates: list[str]) -> list[Any]:
    """The sharing providers in some of these aggregates."""
    members = ('member_of', f'in:{",".join(aggregates)}')
    return _providers(service, [members, ('required', provider_tree.SHARING)])


def _providers(service: Service, query: Query) -> list[Any]:
    return [
        provider
        for page in service.pages(PATH, [INCLUDE, PAGE, *query])
        for provider in page['providers']
    ]
