# SPDX-License-Identifier: Apache-2.0
"""The sections of the report, from what was found."""

import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from placement.tests.functional.known_differences import ORDER
from tools.rehearse.access_log import AccessLog
from tools.rehearse.rendering import Section
from tools.rehearse.replay import Kind, Outcome, short
from tools.rehearse.schema import Step
from tools.rehearse.services import Program, Reply

# The length at which an answer is cut.
MAX_ANSWER = 1500


class Side(NamedTuple):
    """A service, its first search, and the most memory it has had, in KiB."""

    program: Program
    first: Reply
    peak: int


class Findings(NamedTuple):
    """All that a rehearsal has found."""

    # The file and the engine of the dump, and the file of the log.
    inputs: tuple[str, str, str]
    log: AccessLog
    outcomes: Sequence[Outcome]
    # Those of upstream before and after, on the copy that this service has served.
    back: Sequence[Outcome]
    sides: Mapping[str, Side]
    steps: Sequence[Step]
    changed: Sequence[tuple[str, int, int]]
    odd: Sequence[tuple[str, int, str, str]]
    deadline: float

    def of(self, kind: Kind) -> list[Outcome]:
        """Return the reads of which this became."""
        return [outcome for outcome in self.outcomes if outcome.kind is kind]

    @property
    def new(self) -> list[Outcome]:
        """Return what no known difference explains, there or back."""
        return self.of(Kind.NEW) + self.new_back

    @property
    def new_back(self) -> list[Outcome]:
        """Return what upstream answers otherwise on the way back; its order is no fixed one."""
        return [one for one in self.back if not one.is_same and one.title != ORDER]


def sections(found: Findings) -> list[Section]:
    """Return the report."""
    return [
        _summary(found),
        _classes(found),
        Section(
            'Differences that are not known',
            [_counted(found.of(Kind.NEW), 'differ') + _hint(found)],
            texts=[text for one in found.of(Kind.NEW) for text in _both(one)],
        ),
        _known(found),
        _failures(found),
        _times(found),
        _schema(found),
        _odd(found),
    ]


def _counted(outcomes: Sequence[Outcome], verb: str) -> str:
    times = sum(outcome.times for outcome in outcomes)
    return f'{len(outcomes):,} reads {verb}, {times:,} times in the log.'


def _hint(found: Findings) -> str:
    return ' Report them, with this report.' if found.of(Kind.NEW) else ''


def _summary(found: Findings) -> Section:
    dump, engine, log_file = found.inputs
    ours, theirs = (found.sides[name].program.version for name in ('ours', 'theirs'))
    log, kinds = found.log, Counter(outcome.kind for outcome in found.outcomes)
    rows: dict[str, object] = {
        'upstream (openstack-placement)': theirs,
        'this service': ours,
        'dump': f'{dump}, of {engine}',
        'log': f'{log_file}, of {log.format}',
        'reads in the log': log.reads.total(),
        'reads in the log without a microversion': log.without_version,
        'changes in the log, which were not sent': log.changes,
        'other requests in the log': log.foreign,
        'lines of the log that are cut off': log.cut,
        'distinct reads': len(log.reads),
        'distinct reads that were left out': len(log.reads) - len(found.outcomes),
        'answers: the same': kinds[Kind.SAME],
        'answers: with a known difference': kinds[Kind.KNOWN],
        'answers: with another difference': kinds[Kind.NEW],
        'answers: upstream failed': kinds[Kind.FAILED],
        'answers: not finished by upstream': kinds[Kind.UNFINISHED],
        'back on upstream: read again': len(found.back),
        'back on upstream: with a difference': len(found.new_back),
        'kinds of odd rows': len(found.odd),
    }
    return Section(
        'Rehearsal of the change from upstream',
        (),
        [
            ('what', 'how many, or which'),
            *(
                (key, f'{value:,}' if isinstance(value, int) else value)
                for key, value in rows.items()
            ),
        ],
    )


def _classes(found: Findings) -> Section:
    classes: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for one in found.outcomes:
        classes[one.request.route, one.request.version].append(one)
    kinds = [kind.value for kind in Kind]
    table: list[Sequence[object]] = [
        ('route', 'microversion', 'in the log', 'distinct', *kinds, 'upstream ms', 'here ms')
    ]
    for (route, version), outcomes in sorted(classes.items(), key=_in_order):
        counts = Counter(one.kind.value for one in outcomes)
        medians = (
            statistics.median(1000 * reply.seconds for reply in replies)
            for replies in ([one.theirs for one in outcomes], [one.ours for one in outcomes])
        )
        times = sum(one.times for one in outcomes)
        numbers = (times, len(outcomes), *(counts[kind] for kind in kinds), *medians)
        table.append((f'GET {route}', version, *numbers))
    return Section(
        'Requests by class', ['Distinct reads by their answers; medians of the times.'], table
    )


def _in_order(item: tuple[tuple[str, str], object]) -> tuple[str, list[int]]:
    (route, version), _ = item
    return route, [int(number) for number in re.findall(r'\d+', version)]


def _both(
    one: Outcome, theirs: str = 'upstream', ours: str = 'this service'
) -> Iterator[tuple[str, str]]:
    title = f'GET {one.request.path} ({one.request.version}), {one.times:,} times'
    shown = (line.replace('upstream', theirs).replace('this service', ours) for line in one.shown)
    yield title, '\n'.join([*shown, *_answers(one, theirs, ours)])


def _answers(one: Outcome, theirs: str, ours: str) -> Iterator[str]:
    for name, reply in ((theirs, one.theirs), (ours, one.ours)):
        answer = reply.answer
        yield f'{name}: ' + (
            f'{answer.status} {short(answer.body.decode(errors="replace"), MAX_ANSWER)}'
            if answer
            else f'no answer in {reply.seconds:.1f} s'
        )


def _known(found: Findings) -> Section:
    titles: dict[str, list[Outcome]] = defaultdict(list)
    for one in found.of(Kind.KNOWN):
        titles[one.title].append(one)
    rows = [
        (title, len(ones), sum(one.times for one in ones), f'GET {short(ones[0].request.path)}')
        for title, ones in sorted(titles.items())
    ]
    return Section(
        'Known differences',
        ['Each is a section of the page "Coming from upstream".' if rows else 'There are none.'],
        [('section', 'distinct', 'in the log', 'such as'), *rows],
    )


def _failures(found: Findings) -> Section:
    unfinished, failed = found.of(Kind.UNFINISHED), found.of(Kind.FAILED)
    rows = [
        (f'GET {short(one.request.path)}', one.request.version, one.times, 1000 * one.ours.seconds)
        for one in unfinished
    ]
    return Section(
        'Upstream did not answer',
        [
            (
                f'{len(unfinished):,} reads were not finished within {found.deadline:g} s. '
                f'{len(failed):,} were answered with a 5xx.'
            )
        ],
        [('unfinished', 'microversion', 'in the log', 'here ms'), *rows],
        [text for one in failed for text in _both(one)],
    )


def _times(found: Findings) -> Section:
    rows = []
    for name, side in found.sides.items():
        replies = [getattr(one, name).seconds * 1000 for one in found.outcomes]
        rows.append((
            side.program.name, 1000 * side.first.seconds, statistics.median(replies),
            max(replies), sum(replies) / 1000, side.peak / 1024,
        ))  # fmt: skip
    return Section(
        'Times and memory',
        ['One process each, one request at a time. The first search reads the cloud.'],
        [('service', 'first ms', 'median ms', 'longest ms', 'all s', 'peak MiB'), *rows],
    )


def _schema(found: Findings) -> Section:
    differ = found.new_back
    changed = [
        f'{name}: {removed:,} rows removed, {added:,} added'
        for name, removed, added in found.changed
    ]
    return Section(
        'Schema there and back',
        [
            (
                f'Upstream then read {len(found.back):,} again, of the copy that this service had '
                f'migrated and served: {len(differ):,} differ from its answers before.'
            ),
            f'Tables of upstream that changed: {"; ".join(changed) or "none"}.',
        ],
        [('command', 'result'), *found.steps],
        [text for one in differ for text in _both(one, 'upstream before', 'upstream after')],
    )


def _odd(found: Findings) -> Section:
    rows = [(kind, number, example, remedy) for kind, number, example, remedy in found.odd]
    sentence = 'Rows that no request has written; put them right before the change.'
    return Section(
        'Odd rows',
        [sentence if rows else 'There are none.'],
        [('kind', 'rows', 'such as', 'remedy'), *rows],
    )
