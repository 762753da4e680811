# SPDX-License-Identifier: Apache-2.0
"""The command that checks if moves are possible now."""

from __future__ import annotations

import argparse
import itertools
from typing import Any

from osc_placement_insight import files
from osc_placement_insight.commands import base
from osc_placement_insight.what_if import outcome, steps, verdict
from osc_placement_insight.what_if.names import Names

PATH = '/insight/moves'
NOTHING = 'There is nothing to move.'


@base.example('placement moves verify plan.json')
class VerifyMoves(base.PlacingCommand):
    """Verify that the moves of a plan are possible now.

    A plan is true at its moment: verify it again before it is executed. Nothing is moved. The
    source is held until a server has arrived, as nova holds it.

    The exit status is 0 if all moves are possible, 2 if not, and 1 for an error.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'file',
            metavar='<file>',
            help='what "openstack placement drain plan -f json" printed, or moves as the service '
            'takes them, in JSON or YAML; - is standard input',
        )
        parser.add_argument(
            '--at-once',
            action='store_true',
            help='all moves are under way together, not one after the other',
        )
        parser.add_argument(
            '--evacuate',
            action='store_true',
            help='the source hosts are down: amounts of shared pools are counted once',
        )
        steps.add_options(parser)
        return parser

    def ask(self, parsed_args: argparse.Namespace) -> base.Shown:
        values = files.read(parsed_args.file)
        wanted = verdict.parse(values, parsed_args.file)
        if not wanted:
            return base.Shown({'possible': True, 'moves': []}, [NOTHING], verdict.COLUMNS, [])
        body: dict[str, Any] = {
            'moves': [move.body for move in wanted],
            'at_once': parsed_args.at_once,
            'evacuate': parsed_args.evacuate,
        }
        if isinstance(values, dict) and values.get('requests'):
            body['requests'] = values['requests']
        with base.asking(self, 'verifying the moves') as service:
            scenario = steps.of_options(parsed_args, Names(self.app.client_manager))
            if scenario:
                body['scenario'] = steps.bodies(scenario)
            answer = service.ask_about(PATH, body)
        self.are_all_placed = answer['possible']
        lines = verdict.lines(wanted, answer, parsed_args.at_once)
        return base.Shown(
            answer,
            text=[*itertools.chain(lines, outcome.of_steps(scenario, answer))],
            columns=verdict.COLUMNS,
            rows=verdict.rows(wanted, answer),
        )
