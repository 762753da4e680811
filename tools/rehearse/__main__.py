# SPDX-License-Identifier: Apache-2.0
"""Rehearse the change from upstream, and write rehearsal.txt and rehearsal.html.

The dump is restored twice. Upstream and this service each answer the reads of the access log from
a copy, on the loopback; nothing but GET is sent. Ends with status 0 where every answer is the same
or differs in a known way, 1 where one differs otherwise, and 2 where there is nothing to compare.
"""

import argparse
import contextlib
import pathlib
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from benchmarks.progress import Progress
from placement.microversions import NEWEST
from tools.rehearse import access_log, dumps, rendering, report, schema
from tools.rehearse.access_log import AccessLog
from tools.rehearse.failure import CannotRehearse
from tools.rehearse.masking import masked
from tools.rehearse.replay import Outcome, compare, replay
from tools.rehearse.services import Service, find_ours, find_upstream, serving

One = TypeVar('One')


def main(arguments: Sequence[str] | None = None) -> int:
    """Rehearse; the exit status."""
    parser = argparse.ArgumentParser(prog='make rehearse', description=__doc__)
    path = pathlib.Path
    parser.add_argument('--dump', type=path, required=True, metavar='DUMP')
    parser.add_argument('--log', type=path, required=True, metavar='LOG')
    parser.add_argument('--upstream', required=True, metavar='PYTHON', help='that has upstream')
    parser.add_argument('--to', type=path, default=path('rehearsal'), help='without the suffix')
    parser.add_argument(
        '--microversion', default=NEWEST, help='of reads that have none in the log'
    )
    parser.add_argument('--deadline', type=float, default=60, help='seconds for each answer')
    parser.add_argument('--reads', type=int, default=5000, help='most distinct reads to send')
    parser.add_argument('--back', type=int, default=500, help='most reads to send on the way back')
    options = parser.parse_args(arguments)
    try:
        found = rehearse(options, access_log.read(options.log, options.microversion))
    except CannotRehearse as error:
        print(masked(f'rehearse: {error}'), file=sys.stderr)
        return 2
    written = report.sections(found)
    for suffix, render in (('.txt', rendering.as_text), ('.html', rendering.as_html)):
        options.to.with_suffix(suffix).write_text(render(written))
    print(rendering.as_text(written[:1]))
    print(f'The report: {options.to.with_suffix(".txt")}, {options.to.with_suffix(".html")}')
    return 1 if found.new else 0


def rehearse(options: argparse.Namespace, log: AccessLog) -> report.Findings:
    """Send the most frequent reads of a log to both services on copies of a dump.

    :raises CannotRehearse: the dump or the environment of upstream cannot be used
    """
    engine = dumps.recognise(options.dump)
    with contextlib.ExitStack() as stack:
        copies = [stack.enter_context(dumps.restored(options.dump, engine)) for _ in range(2)]
        programs = find_ours(copies[0]), find_upstream(options.upstream, copies[1])
        before = dumps.table_rows(copies[1])
        odd = schema.find_odd_rows(copies[1])
        steps = schema.upgrade(programs[0], copies[0])
        reads = log.reads.most_common(options.reads)
        with (
            serving(programs[1], copies[1], options.deadline) as theirs,
            serving(programs[0], copies[0], options.deadline) as ours,
        ):
            outcomes = [*_shown(replay(reads, ours, theirs), len(reads), 'reads of both')]
            sides = {
                'theirs': report.Side(programs[1], theirs.first, theirs.peak_memory()),
                'ours': report.Side(programs[0], ours.first, ours.peak_memory()),
            }
        steps += schema.go_back(programs[1], copies[0])
        again = [one for one in outcomes if one.is_answered][: options.back]
        with serving(programs[1], copies[0], options.deadline) as theirs:
            back = [*_shown(_read_again(again, theirs), len(again), 'reads of upstream again')]
        changed = [*schema.changed_tables(before, dumps.table_rows(copies[0]))]
    inputs = options.dump.name, engine.name, options.log.name
    return report.Findings(
        inputs, log, outcomes, back, sides, steps, changed, odd, options.deadline
    )


def _read_again(outcomes: Iterable[Outcome], upstream: Service) -> Iterator[Outcome]:
    """Compare what upstream says of the copy that this service has served with what it said."""
    for one in outcomes:
        reply = upstream.get(one.request)
        yield compare(one.request, one.times, reply, one.theirs)


def _shown(steps: Iterator[One], total: int, activity: str) -> Iterator[One]:
    """Show a bar on a terminal while steps are done."""
    if not sys.stderr.isatty():
        yield from steps
        return
    bar = Progress(total)
    for step in steps:
        bar.advance()
        bar.say(activity)
        yield step
    bar.end()


if __name__ == '__main__':
    # The databases are dropped, whoever ends this.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
