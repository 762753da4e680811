# SPDX-License-Identifier: Apache-2.0
"""Where the servers of hosts go that are to be empty."""

from __future__ import annotations

import argparse
import itertools

from osc_lib import exceptions

from osc_placement_insight import compute
from osc_placement_insight.commands import base
from osc_placement_insight.what_if import command_lines, known, nova, outcome, plan, steps
from osc_placement_insight.what_if.chosen import choose_hosts, choose_servers
from osc_placement_insight.what_if.draining import drain
from osc_placement_insight.what_if.names import Names

COMMANDS = 'commands'


@base.example('placement drain plan compute-17 compute-18')
class PlanDrain(base.PlacingCommand):
    """Plan where the servers of hosts go, so that the hosts can be switched off.

    Nothing is moved. Moves can be made in any order and at once; the host with most room left is
    taken. The format commands has a line for each move, json is what "placement moves verify"
    reads.

    The exit status is 0 if all find a place, 2 if not, and 1 for an error.
    """

    formatter_namespace = 'osc_placement_insight.formatter.plan'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'hosts',
            metavar='<where>',
            nargs='*',
            help='a host (UUID or name), or @<aggregate>: a UUID, or the name of a zone or an '
            'aggregate in nova',
        )
        parser.add_argument(
            '--server',
            metavar='<server>',
            nargs='+',
            default=[],
            help='in place of hosts, servers that leave theirs (UUID, or name in nova)',
        )
        base.add_without_nova(parser)
        steps.add_options(parser)
        return parser

    def ask(self, parsed_args: argparse.Namespace) -> base.Shown:
        _check(parsed_args)
        names = Names(self.app.client_manager)
        manager = self.app.client_manager
        with base.asking(self, 'planning the drain') as service:
            scenario = steps.of_options(parsed_args, names)
            if parsed_args.server:
                chosen = choose_servers(map(names.server, parsed_args.server))
            else:
                chosen = choose_hosts(service, map(names.where, parsed_args.hosts))
            asked = None if parsed_args.without_nova else compute.of_manager(manager, nova.PURPOSE)
            planned, cloud, terms, refused = drain(service, asked, chosen, scenario)
        self.are_all_placed = not planned.unplaced
        basis = known.WITHOUT_NOVA if cloud is None else known.WITH_NOVA
        lines = itertools.chain(
            plan.lines(planned, basis), outcome.lines(scenario, planned.answer)
        )
        return base.Shown(
            plan.whole(planned, terms.requests, terms.asked),
            text=[*base.with_notes([*refused.values(), *terms.notes], lines)],
            columns=plan.COLUMNS,
            rows=plan.rows(planned),
            commands=[] if cloud is None else [*command_lines.lines(planned, cloud, chosen.roots)],
        )


def _check(parsed_args: argparse.Namespace) -> None:
    if bool(parsed_args.hosts) == bool(parsed_args.server):
        raise exceptions.CommandError('Name hosts, or servers with --server, and not both.')
    if parsed_args.without_nova and parsed_args.formatter == COMMANDS:
        raise exceptions.CommandError(
            'Commands name compute hosts, which nova alone knows: leave out --without-nova.'
        )
