# SPDX-License-Identifier: Apache-2.0
"""The scenario of a request: its steps, and the rows of the providers and consumers they name."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from placement import errors
from placement.db.rows import Connection
from placement.db.statements import providers
from placement.feed.keeper import FeedBypassed
from placement.http.querystring import Query
from placement.http.request import Request
from placement.objects.allocation_candidate import check_names
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.solver.work import BudgetSpent
from placement_insight import query_text
from placement_insight.bulk.handlers import parse_consumers
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.search.what_if import scenario
from placement_insight.search.what_if.scenario import Held, Scenario, Step, StepRefused
from placement_insight.search.what_if.steps import Add, Change, Claim, Release, Remove
from placement_insight.what_if import statements
from placement_insight.what_if.schemas import MAX_CONSUMERS, MAX_PROVIDERS

Result = TypeVar('Result')


class SentStep(NamedTuple):
    """A step as a client sent it."""

    number: int
    verb: str
    arguments: Any

    def named(self) -> contextlib.AbstractContextManager[None]:
        """Turn errors into `errors.BadRequest`, with the step in the message."""
        unknown = errors.TraitNotFound, errors.ResourceClassNotFound
        prefix = f'Scenario step {self.number} ({self.verb}): '
        return errors.reported_as(errors.BadRequest, errors.BadRequest, *unknown, prefix=prefix)

    def providers(self) -> list[str]:
        """Return the uuids and names of providers in the step."""
        arguments = {'where': self.arguments} if self.verb == 'remove' else self.arguments
        where = arguments.get('where')
        named = where if isinstance(where, list) else []
        return named + [arguments[name] for name in ('like', 'provider') if name in arguments]

    def traits(self) -> frozenset[str]:
        """Return the traits that a change adds or removes."""
        return frozenset[str]().union(*self.arguments.get('traits', {}).values())


class Known(NamedTuple):
    """The rows that a scenario needs, read at the moment of `snapshot`.

    `names` has the names of providers by uuid, and `held` the allocations that each step of a
    release takes away, by its number.
    """

    snapshot: Snapshot
    names: Mapping[str, str]
    held: Mapping[int, Mapping[str, Held]]


def scenario_of(
    request: Request, body: Sequence[Mapping[str, Any]], provider: str | None = None
) -> Scenario:
    """Return the cloud after the steps of a body, which knows `provider` by name too.

    :raises errors.BadRequest: a step is refused; the message names it
    """
    named = [] if provider is None else [provider]
    return scenario_with(request, body, named, lambda _connection, _snapshot: None)[0]


def scenario_with(
    request: Request,
    body: Sequence[Mapping[str, Any]],
    named: Sequence[str],
    read: Callable[[Connection, Snapshot], Result],
) -> tuple[Scenario, Result]:
    """Return the cloud after the steps of a body, and the result of `read`.

    `read` is called at the moment at which the scenario begins. The scenario knows the providers
    in `named` by name too.

    :raises errors.BadRequest: a step is refused; the message names it
    """
    sent = [SentStep(number, *next(iter(step.items()))) for number, step in enumerate(body, 1)]
    query_text.check_lengths([s.arguments['query'] for s in sent if s.verb == 'claim'])
    mentioned = [name for step in sent for name in step.providers()]
    if len(mentioned) > MAX_PROVIDERS:
        raise errors.BadRequest(
            f'The scenario names {len(mentioned)} resource providers, more than {MAX_PROVIDERS}.'
        )
    known, result = request.service.snapshots.read_at_one_moment(
        lambda connection, snapshot: (
            _read_known(connection, snapshot, sent, [*mentioned, *named]),
            read(connection, snapshot),
        )
    )
    steps = [(step.verb, _checked_step(request, step, known)) for step in sent]
    after = Scenario(known.snapshot, known.names, SlicedWork(scenario.SCENARIO_BUDGET))
    with refusals_reported():
        after.take(steps)
    return after, result


def uuid_of(after: Scenario, uuid_or_name: str) -> str:
    """Return the uuid of a provider.

    :raises errors.BadRequest: it does not exist after the steps
    """
    with refusals_reported():
        return after.provider(uuid_or_name).uuid


@contextlib.contextmanager
def refusals_reported(prefix: str = '') -> Iterator[None]:
    """Turn refused steps, and a spent budget, into `errors.BadRequest`."""
    try:
        yield
    except BudgetSpent as error:
        words = f'{prefix}The budget of one question does not suffice.'
        raise errors.BadRequest(words) from error
    except StepRefused as error:
        raise errors.BadRequest(f'{prefix}{error}') from error


def _read_known(
    connection: Connection, snapshot: Snapshot, sent: Sequence[SentStep], mentioned: list[str]
) -> Known:
    unknown = {name for name in mentioned if snapshot.find_by_uuid(name) is None}
    known = statements.list_named(connection, unknown) if unknown else {}
    uuids = {name: uuid for uuid, name in known.items()}
    likes = [step.arguments['like'] for step in sent if step.verb == 'add']
    models = [snapshot.find_by_uuid(uuids.get(like, like)) for like in likes]
    copied = {m.uuid for model in models if model for m in snapshot.tree(model.root_id).members}
    if copied:
        known |= providers.list_names(connection, copied)
    return Known(snapshot, known, _read_held(connection, snapshot, sent, uuids))


def _read_held(
    connection: Connection,
    snapshot: Snapshot,
    sent: Iterable[SentStep],
    uuids: Mapping[str, str],
) -> Mapping[int, Mapping[str, Held]]:
    """Return the allocations of consumers to release, with one statement for each such step."""
    held, left = dict[int, Mapping[str, Held]](), MAX_CONSUMERS
    for step in sent:
        if step.verb != 'release':
            continue
        with step.named():
            of_step = _read_held_by(connection, step.arguments, uuids, left + 1)
            left -= len(step.arguments.get('consumers', of_step))
            if left < 0:
                raise errors.BadRequest(f'more than {MAX_CONSUMERS} consumers would be released')
        if not all(snapshot.has_provider(i) for amounts in of_step.values() for i in amounts):
            raise FeedBypassed
        held[step.number] = of_step
    return held


def _read_held_by(
    connection: Connection, arguments: Mapping[str, Any], uuids: Mapping[str, str], limit: int
) -> Mapping[str, Held]:
    if 'consumers' in arguments:
        return statements.list_held(connection, arguments['consumers'])
    filters = parse_consumers(Query(arguments.items()))
    provider = filters.provider
    if provider is not None:
        filters = filters._replace(provider=uuids.get(provider, provider))
    return statements.list_held_by(connection, filters, limit)


def _checked_step(request: Request, step: SentStep, known: Known) -> Step:
    """Return a step after a check that its names exist."""
    arguments = step.arguments
    with step.named():
        match step.verb:
            case 'change':
                named = CandidateRequest((), root_required=step.traits())
                check_names(request.context, named, known.snapshot)
                return Change(**arguments)
            case 'add':
                return Add(**arguments)
            case 'remove':
                return Remove(arguments)
            case 'release':
                held = known.held[step.number]
                asked = len(arguments.get('consumers', held))
                # Consumers claimed by a step have no project, user or type.
                with_claimed = arguments.keys() == {'provider'}
                return Release(held, asked, arguments.get('provider'), with_claimed)
            case _:
                wanted = query_text.parse_text(request.api, arguments['query'])
                check_names(request.context, wanted, known.snapshot)
                return Claim(wanted, arguments['count'])
