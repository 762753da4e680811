# SPDX-License-Identifier: Apache-2.0
"""The commands that find faults in placement and repair them."""

from __future__ import annotations

import argparse
import contextlib
import pathlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from osc_lib import exceptions
from osc_lib.command import command

from osc_placement_insight import argument_types, cells, compute, service
from osc_placement_insight.audit import kinds, passes, repair, report
from osc_placement_insight.audit.finding import Finding, Repair
from osc_placement_insight.audit.journal import Journal
from osc_placement_insight.audit.repair import Repairer, Result
from osc_placement_insight.audit.report import Report
from osc_placement_insight.commands import base
from osc_placement_insight.compute import Tell
from osc_placement_insight.progress import Progress
from osc_placement_insight.replaced_file import replacing

COLUMNS = ('kind', 'subject', 'finding', 'what to do')
CHANGES = ('kind', 'subject', 'change', 'result')
#: The exit status of an audit that found something.
FOUND = 3


@base.example('placement audit run --placement-only')
class RunAudit(command.Lister):
    """Look for what is wrong in placement, compared with nova.

    Reads everything twice, with a pause, and lists what was wrong both times: amounts over
    capacity, leaked, missing, doubled and misplaced allocations, hypervisors with another
    identity. Changes nothing. The exit status is 3 if something was found.
    """

    _has_found = False

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--report',
            metavar='<file>',
            type=pathlib.Path,
            help='write the report, which "placement audit repair" reads, as YAML, or as JSON if '
            'the name ends with .json',
        )
        parser.add_argument(
            '--placement-only',
            action='store_true',
            help='do not compare with nova',
        )
        parser.add_argument(
            '--wait',
            metavar='<seconds>',
            type=argument_types.seconds,
            default=passes.WAIT,
            help='pause between the two passes (default: %(default)s)',
        )
        return parser

    def run(self, parsed_args: argparse.Namespace) -> int:
        """The exit status of the command."""
        status: int = super().run(parsed_args) or 0
        return status or (FOUND if self._has_found else 0)

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        path = parsed_args.report
        # Opened first: an audit may take minutes, and should not be lost for a wrong path.
        with contextlib.nullcontext() if path is None else replacing(path) as stream:
            found = self._audit(parsed_args)
            if stream is not None:
                stream.write(report.text(found, as_json=path.suffix == '.json'))
        self._has_found = bool(found.findings)
        rows = [[one.kind, one.subject, one.words, one.remedy] for one in found.findings]
        return COLUMNS, cells.as_shown(rows, parsed_args.formatter)

    def _audit(self, parsed_args: argparse.Namespace) -> Report:
        with _asking(self, 'auditing') as (placement, tell):
            nova = None if parsed_args.placement_only else compute.of_manager(_manager(self))
            audited = passes.audit(placement, nova, tell, parsed_args.wait)
        return Report(
            report.now(),
            _address(self),
            nova is not None,
            audited.counts,
            audited.findings,
        )


@base.example('placement audit repair report.json')
class RepairAudit(command.Lister):
    """Show the least changes that repair what an audit found, or make them with --apply.

    A change is skipped if the consumer in placement, or the server in nova, is not as the report
    has it. The journal has each change before and after it is made: started again after an
    interruption, the command goes on where it was.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('report', metavar='<report>', type=pathlib.Path)
        parser.add_argument('--apply', action='store_true', help='make the changes')
        parser.add_argument(
            '--kind',
            metavar='<kind>',
            action='append',
            default=[],
            choices=[name for name, kind in kinds.KINDS.items() if kind.repair.is_possible],
            help='repair only findings of this kind; may be repeated. Without it, those of all '
            f'kinds but {", ".join(_named_only())}. One of: %(choices)s',
        )
        parser.add_argument(
            '--journal',
            metavar='<file>',
            type=pathlib.Path,
            help='where to write what was done (default: <report>.journal)',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        found = report.read(parsed_args.report)
        chosen = repair.proposals(found.findings, parsed_args.kind)
        if parsed_args.apply:
            path = parsed_args.journal or parsed_args.report.with_name(
                f'{parsed_args.report.name}.journal'
            )
            results = self._apply(found, chosen, path)
        else:
            results = [Result(finding, repair.PROPOSED) for finding in chosen]
        return CHANGES, cells.as_shown(map(_row, results), parsed_args.formatter)

    def _apply(self, found: Report, chosen: Sequence[Finding], path: pathlib.Path) -> list[Result]:
        """Make the changes, and record them in the journal, even if one of them fails."""
        with (
            _asking(self, 'repairing', repair.MICROVERSION) as (placement, tell),
            Journal(path, found.id) as journal,
        ):
            self._check_cloud(found)
            nova = compute.of_manager(_manager(self)) if found.with_nova else None
            repairer = Repairer(placement, nova, journal)
            results = []
            with _advice_after_failure():
                for result in repairer.repair(chosen):
                    results.append(result)
                    tell(f'repairing: {len(results)} of {len(chosen)}')
        return results

    def _check_cloud(self, found: Report) -> None:
        address = _address(self)
        if address != found.cloud:
            raise exceptions.CommandError(
                f'The report is of {found.cloud}, but this cloud is {address}. Choose the cloud '
                'with --os-cloud, or run the audit again.'
            )


@contextlib.contextmanager
def _advice_after_failure() -> Iterator[None]:
    """Say how to go on where a service fails in the middle of a repair."""
    try:
        yield
    except exceptions.CommandError as error:
        raise exceptions.CommandError(
            f'{error} What was done is in the journal: run the same command again to go on.'
        ) from error


def _named_only() -> list[str]:
    return [name for name, kind in kinds.KINDS.items() if kind.repair is Repair.WHEN_NAMED]


def _row(result: Result) -> tuple[str, str, str, str]:
    words = f'{result.event}: {result.reason}' if result.reason else result.event
    return result.finding.kind, result.finding.subject, repair.change(result.finding), words


@contextlib.contextmanager
def _asking(
    asker: command.Command, doing: str, version: str = service.NEWEST
) -> Iterator[tuple[service.Service, Tell]]:
    """The service at the microversion of the command, and a function that reports progress."""
    with Progress(sys.stderr, doing) as progress:
        with service.failures_in_words():
            client = _manager(asker).placement
        yield service.Service(client, version, progress.tell), progress.tell


def _manager(asker: command.Command) -> Any:
    return asker.app.client_manager


def _address(asker: command.Command) -> str:
    """The address of placement, by which a repair knows that a report is of this cloud."""
    manager = _manager(asker)
    with service.failures_in_words():
        return str(manager.session.get_endpoint(**manager.placement.ks_filter))
