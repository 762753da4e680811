# SPDX-License-Identifier: Apache-2.0
"""A page of domains, and what is held there, at one moment."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from placement import errors
from placement.db.engine import transactions as db
from placement.feed.keeper import FeedBypassed, SnapshotKeeper
from placement.http.request import Request
from placement.insight.paging import Page
from placement.insight.what_if import statements
from placement.insight.what_if.scenarios import refusals_reported, scenario_with
from placement.insight.what_if.schemas import MAX_PROVIDERS
from placement.search.insight.sliced_work import SlicedWork
from placement.search.model.snapshot import Snapshot
from placement.search.what_if.domains import Domain, root_domains, roots_by_aggregate
from placement.search.what_if.scenario import Held, Scenario, StepRefused, Where

# A page ends with the domain that has it examine so many trees.
MAX_TREES = 5_000
# The scenario tells which trees are lost, and what is held there has to be read at the moment at
# which the scenario begins: so it may have to begin again.
ATTEMPTS = 4


class Holders(NamedTuple):
    """Amounts held, by consumer, by all who hold of the trees with some root ids, and by others
    who were asked about."""

    roots: frozenset[int]
    held: Mapping[str, Held]
    others: Mapping[str, Held]


class DomainPage(NamedTuple):
    """Domains of the cloud after a scenario, with those who hold of each of them, and what others
    hold who were asked about: amounts, by consumer."""

    after: Scenario
    domains: Page[Domain]
    holders: Mapping[str, Mapping[str, Held]]
    others: Mapping[str, Held]


class Part(NamedTuple):
    """The first `limit` of domains after a marker, by uuid or name, as `lose` of a body has them;
    `called` is what a message calls them, with a name."""

    lose: Mapping[str, Any]
    marker: str = ''
    limit: int = 1
    called: str = 'Domain {}'


NO_DOMAINS = Part({'domains': {}})


def read_page(
    request: Request,
    scenario: Sequence[Mapping[str, Any]],
    part: Part,
    others: Collection[str],
    roots_named: Collection[str] = (),
) -> DomainPage:
    """The domains of a part, and what some other consumers hold.

    Roots can be found by those of their names that are in `roots_named`.

    Raises `errors.BadRequest`, which names the domain or the step, and `errors.InsightBusy` where
    the cloud changes too fast.
    """
    lose, marker, limit, _ = part
    lists = [where for where in lose.get('domains', {}).values() if isinstance(where, list)]
    named = [*roots_named, *(name for where in lists for name in where)]
    if len(named) > MAX_PROVIDERS:
        raise errors.BadRequest(
            f'The request names {len(named)} resource providers, more than {MAX_PROVIDERS}.'
        )
    roots = frozenset[int]()

    def read(connection: db.Connection, snapshot: Snapshot) -> Holders:
        domains = [] if roots or lose.get('each') != 'root' else _guess(snapshot, marker, limit)
        return _read(connection, snapshot, roots.union(*domains), others)

    for _ in range(ATTEMPTS):
        after, holders = scenario_with(request, scenario, named, read)
        domains = _domains(after, part)
        roots = frozenset[int]().union(*[domain.roots for domain in domains.items])
        if all(root in holders.roots or not after.given.has_provider(root) for root in roots):
            return _held_in(after, domains, holders)
    raise errors.InsightBusy


def read_page_of_roots(snapshots: SnapshotKeeper, marker: str, limit: int) -> DomainPage:
    """The first `limit` domains of a tree each, after a marker, of the cloud as it is.

    Raises `errors.DatabaseUnavailable`.
    """

    def read(connection: db.Connection, snapshot: Snapshot) -> DomainPage:
        domains = _bounded(*root_domains(snapshot, marker, limit))
        roots = frozenset[int]().union(*[domain.roots for domain in domains.items])
        holders = _read(connection, snapshot, roots, ())
        return _held_in(Scenario(snapshot, {}, SlicedWork()), domains, holders)

    return snapshots.read_at_one_moment(read)


def _guess(snapshot: Snapshot, marker: str, limit: int) -> list[frozenset[int]]:
    """The trees of a page, if no step changes them."""
    return [domain.roots for domain in root_domains(snapshot, marker, limit)[0]]


def _read(
    connection: db.Connection, snapshot: Snapshot, roots: frozenset[int], others: Collection[str]
) -> Holders:
    # Of copies that the scenario adds the database has no ids.
    stored = [root for root in roots if snapshot.has_provider(root)]
    held = statements.list_held_of_trees(connection, stored) if stored else {}
    elsewhere = statements.list_held(connection, others) if others else {}
    of_all = (*held.values(), *elsewhere.values())
    if not all(snapshot.has_provider(i) for of_consumer in of_all for i in of_consumer):
        raise FeedBypassed
    return Holders(roots, held, elsewhere)


def _held_in(after: Scenario, domains: Page[Domain], holders: Holders) -> DomainPage:
    """The page after the steps: who was released holds nothing, who was claimed does."""
    root_of = after.snapshot.indexes.roots
    claimed = {f'claimed by the scenario: {n}': each for n, each in enumerate(after.claimed, 1)}
    held = dict(_still_held(after, {**holders.held, **claimed}))
    by_root: dict[int | None, dict[str, Held]] = defaultdict(dict)
    for consumer, of_consumer in SlicedWork().paused(list(held.items())):
        for provider_id in of_consumer:
            by_root[root_of.get(provider_id)][consumer] = of_consumer
    return DomainPage(
        after,
        domains,
        {
            domain.name: {
                name: each for root in sorted(domain.roots) for name, each in by_root[root].items()
            }
            for domain in domains.items
        },
        dict(_still_held(after, holders.others)),
    )


def _still_held(after: Scenario, held: Mapping[str, Held]) -> Iterator[tuple[str, Held]]:
    """What those hold who were not released, of providers that were not removed."""
    known = after.snapshot.indexes.roots
    for consumer, of_consumer in SlicedWork().paused(list(held.items())):
        left = {i: of_consumer[i] for i in of_consumer if i in known}
        if left and consumer not in after.released:
            yield consumer, left


def _domains(after: Scenario, part: Part) -> Page[Domain]:
    lose, marker, limit, called = part
    if lose.get('each') == 'root':
        return _bounded(*root_domains(after.snapshot, marker, limit))
    aggregates = {uuid: {'member_of': uuid} for uuid in lose.get('of', ())}
    wheres = lose.get('domains', aggregates)
    by_aggregate = roots_by_aggregate(after.snapshot) if wheres else {}
    domains = []
    for name, where in sorted(wheres.items()):
        with refusals_reported(f'{called.format(name)}: '):
            domain = _domain(after, name, where, by_aggregate)
        if name > marker:
            domains.append(domain)
    return _bounded(domains[:limit], len(domains) > limit)


def _domain(
    after: Scenario, name: str, where: Where, by_aggregate: Mapping[str, frozenset[int]]
) -> Domain:
    """The domain of a name. Raises `StepRefused`."""
    if isinstance(where, Mapping):
        aggregate = where['member_of']
        if aggregate not in by_aggregate:
            raise StepRefused(f'no tree has its root in aggregate {aggregate!r}')
        return Domain(name, by_aggregate[aggregate], frozenset([aggregate]))
    return Domain(name, frozenset([after.root(uuid_or_name).id for uuid_or_name in where]))


def _bounded(domains: Sequence[Domain], has_more: bool) -> Page[Domain]:
    """The page without those that are too many to look at in one question."""
    trees = 0
    for number, domain in enumerate(domains, 1):
        trees += len(domain.roots)
        if trees >= MAX_TREES and number < len(domains):
            return Page(domains[:number], has_more=True)
    return Page(domains, has_more)
