# SPDX-License-Identifier: Apache-2.0
"""Why a request finds no allocation candidates."""

from __future__ import annotations

import argparse
import itertools
from typing import Any

from osc_placement_insight import candidate_request, explanation
from osc_placement_insight.commands import base
from osc_placement_insight.what_if import outcome, steps
from osc_placement_insight.what_if.names import Names

PATH = '/insight/allocation_candidates'


@base.example('placement explain --flavor m1.large --provider compute-17')
class ExplainAllocationCandidates(base.AnswerCommand):
    """Explain why a request fits nowhere, or where it does not fit.

    The request is given by the options of "openstack allocation candidate list", by a flavor, by
    the id of a request to nova that ended in "No valid host was found", or by a query string. The
    explanation has the verdict, how many trees (hosts with their devices) each condition left and
    how many it alone turned away, the trees that miss least, and what to give up.

    With options of a scenario it explains the cloud after the scenario.

    The formats text (the default), json and yaml have all of it; table, csv and value have a row
    for each condition.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        candidate_request.add_options(parser)
        parser.add_argument(
            '--provider',
            metavar='<provider>',
            help='also tell why not on the tree of this resource provider (UUID or name)',
        )
        steps.add_options(parser)
        return parser

    def ask(self, parsed_args: argparse.Namespace) -> base.Shown:
        with base.asking(self, 'explaining') as service:
            manager = self.app.client_manager
            names = Names(manager)
            asked = candidate_request.from_options(parsed_args, service, manager, names.aggregate)
            chosen = {} if parsed_args.provider is None else {'provider': parsed_args.provider}
            scenario = steps.of_options(parsed_args, names)
            if scenario:
                body = {'query': asked.text, 'scenario': steps.bodies(scenario), **chosen}
                answer: Any = service.at(asked.version).ask_about(PATH, body)
            else:
                answer = service.at(asked.version).ask(PATH, [*asked.query, *chosen.items()])
        lines = itertools.chain(explanation.lines(answer), outcome.lines(scenario, answer))
        return base.Shown(
            answer,
            text=[*base.with_notes(asked.notes, lines)],
            columns=explanation.COLUMNS,
            rows=[*explanation.rows(answer)],
        )
