# SPDX-License-Identifier: Apache-2.0
"""Which failures the cloud can take."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from osc_placement_insight import compute
from osc_placement_insight.commands import base
from osc_placement_insight.named_requests import ask_without_refused
from osc_placement_insight.service import Service
from osc_placement_insight.what_if import (
    domains,
    held,
    known,
    losses,
    nova,
    outcome,
    seeking,
    steps,
)
from osc_placement_insight.what_if.known import Known, Terms
from osc_placement_insight.what_if.names import Names
from osc_placement_insight.what_if.steps import Step


@base.example('placement survival show --lose zones --failing')
class ShowSurvival(base.PlacingCommand):
    """Show which failures the cloud can take.

    Test the failure of each host, of each zone, or of each group in a file: would all its servers
    find a place on the remaining hosts? With --buy and --sell, find how many hosts have to be
    bought, or how many servers can be sold, with a place for all after each failure.

    The exit status is 0 if all servers find a place after each failure, 2 if not, and 1 for an
    error.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--lose',
            metavar='<hosts, zones, @aggregate or file>',
            default=domains.HOSTS,
            help='each host, which is the default, each zone of nova, one aggregate by UUID or '
            'name, such as @az1, or each domain of a file in YAML or JSON, such as '
            '"rack 7: [host1, host2]"',
        )
        parser.add_argument(
            '--failing', action='store_true', help='only losses that would not be survived'
        )
        parser.add_argument(
            '--flavor',
            metavar='<flavor>',
            action='append',
            default=[],
            help='also show how many servers of this flavor fit after the worst failure; may be '
            'repeated',
        )
        sought = parser.add_mutually_exclusive_group()
        sought.add_argument(
            '--buy',
            metavar='<host>',
            help='find how many more hosts like this one give all a place after each failure',
        )
        sought.add_argument(
            '--sell',
            metavar='<flavor>',
            help='find how many more servers of this flavor keep a place after each failure',
        )
        base.add_without_nova(parser)
        steps.add_options(parser)
        return parser

    def ask(self, parsed_args: argparse.Namespace) -> base.Shown:
        names = Names(self.app.client_manager)
        with base.asking(self, 'asking which losses are survived') as service:
            scenario = steps.of_options(parsed_args, names)
            cloud = None if parsed_args.without_nova else self._read(service)
            terms = Terms() if cloud is None else known.terms(cloud, held.by_all(service))
            room = {flavor: names.query(flavor) for flavor in parsed_args.flavor}
            lose = domains.of_option(parsed_args.lose, cloud, names)

            def body(wanted: Mapping[str, str], after: Sequence[Step]) -> dict[str, Any]:
                return {'lose': lose, 'scenario': steps.bodies(after), **terms.body(wanted)}

            def ask(wanted: Mapping[str, str]) -> Any:
                return losses.ask(service, body(wanted, scenario), parsed_args.failing)

            answer, refused = ask_without_refused(terms.requests | room, ask)
            wanted = {n: query for n, query in terms.requests.items() if n not in refused}
            found = _sought(
                parsed_args,
                names,
                lambda more: losses.is_survived(service, body(wanted, [*scenario, *more])),
            )
            if found is not None:
                scenario = [*scenario, *found.steps]
                answer = {found.member: found.number, **ask(wanted | room)}
        self.are_all_placed = all(row['survives'] for row in answer['domains'])
        notes = [*refused.values(), *terms.notes, *([found.words] if found else [])]
        basis = known.WITHOUT_NOVA if cloud is None else known.WITH_NOVA
        servers = {} if cloud is None else cloud.names()
        lines = itertools.chain(
            losses.lines(answer, basis, servers), outcome.lines(scenario, answer)
        )
        return base.Shown(
            answer, [*base.with_notes(notes, lines)], losses.COLUMNS, losses.rows(answer)
        )

    def _read(self, service: Service) -> Known:
        asked = compute.of_manager(self.app.client_manager, nova.PURPOSE)
        servers = nova.list_servers(asked, service.tell, hosts=None)
        return known.read(service, asked).with_servers(servers)


def _sought(
    parsed_args: argparse.Namespace, names: Names, survives: seeking.Survives
) -> seeking.Found | None:
    """The number that the options seek, if any."""
    if parsed_args.buy:
        return seeking.buy(parsed_args.buy, survives)
    if parsed_args.sell:
        return seeking.sell(parsed_args.sell, names.query(parsed_args.sell), survives)
    return None
