# SPDX-License-Identifier: Apache-2.0
"""Why a request finds no allocation candidates."""

from __future__ import annotations

import argparse
from typing import Any

from osc_placement_insight import candidate_request, explanation
from osc_placement_insight.commands import base

PATH = '/insight/allocation_candidates'


class ExplainAllocationCandidates(base.AnswerCommand):
    """Explain why a request fits nowhere, or where it does not fit.

    What is asked for is told by the options of "openstack allocation candidate list", by a flavor,
    by the id of a request to nova that ended in "No valid host was found", or by a query string.
    The explanation tells the verdict, how many trees (hosts with all that is below them) each
    condition left and how many it alone turned away, the trees that miss least, and what to give
    up.

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
        return parser

    def ask(self, parsed_args: argparse.Namespace) -> base.Shown:
        with base.asking(self, 'explaining') as service:
            asked = candidate_request.from_options(parsed_args, service, self.app.client_manager)
            query = [*asked.query]
            if parsed_args.provider is not None:
                query.append(('provider', parsed_args.provider))
            answer: Any = service.at(asked.version).ask(PATH, query)
        return base.Shown(
            answer,
            text=[*base.with_notes(asked.notes, explanation.lines(answer))],
            columns=explanation.COLUMNS,
            rows=[*explanation.rows(answer)],
        )
