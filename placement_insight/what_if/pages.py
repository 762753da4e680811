# SPDX-License-Identifier: Apache-2.0
"""A page of failure domains with the allocations there, at one moment."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from placement import errors
from placement.db.rows import Connection
from placement.feed.keeper import FeedBypassed, SnapshotKeeper
from placement.http.request import Request
from placement.search.model.snapshot import Snapshot
from placement_insight.errors import InsightBusy
from placement_insight.paging import Page
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.search.what_if.domains import Domain, root_domains, roots_by_aggregate
from placement_insight.search.what_if.scenario import Held, Scenario, StepRefused, Where
from placement_insight.what_if import statements
from placement_insight.what_if.scenarios import refusals_reported, scenario_with
from placement_insight.what_if.schemas import MAX_PROVIDERS

# A page ends early with the domain at which it has this number of trees.
MAX_TREES = 5_000
# Maximum number of attempts to read allocations at the moment of the scenario: only after its
# steps it is known which trees are lost, and so which allocations to read.
ATTEMPTS = 4


class Holders(NamedTuple):
    """Allocations of consumers at one moment.

    `held` covers all consumers on the trees with the root ids `roots`, and `others` further
    consumers in question.
    """

    roots: frozenset[int]
    held: Mapping[str, Held]
    others: Mapping[str, Held]


class DomainPage(NamedTuple):
    """A page of domains after a scenario, with the allocations of consumers.

    `holders` has them by the root id of a tree and by consumer; `others` has the allocations of
    further consumers in question, by consumer.
    """

    after: Scenario
    domains: Page[Domain]
    holders: Mapping[int, Mapping[str, Held]]
    others: Mapping[str, Held]

    def holders_of(self, domain: Domain) -> Mapping[str, Held]:
        """Return the allocations of the consumers on a domain.

        Built for one domain at a time, since many domains may share a tree with many consumers.
        """
        held = dict[str, Held]()
        for root in sorted(domain.roots):
            held |= self.holders.get(root, {})
        return held


class Part(NamedTuple):
    """The domains that a page asks for: the first `limit` after `marker`, by uuid or name.

    `lose` is that of the body; `called` is the format of a domain's name in error messages.
    """

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
    """Return a page of domains after a scenario, with the allocations of `others` too.

    Afterwards the scenario finds roots by uuid, and by the names in `roots_named`.

    :raises errors.BadRequest: a domain or a step is refused; the message names it
    :raises InsightBusy: the cloud changes too fast
    """
    lose, marker, limit, _ = part
    lists = [where for where in lose.get('domains', {}).values() if isinstance(where, list)]
    named = [*roots_named, *(name for where in lists for name in where)]
    if len(named) > MAX_PROVIDERS:
        raise errors.BadRequest(
            f'The request names {len(named)} resource providers, more than {MAX_PROVIDERS}.'
        )
    roots = frozenset[int]()

    def read(connection: Connection, snapshot: Snapshot) -> Holders:
        domains = (
            [] if roots or lose.get('each') != 'root' else _guess_roots(snapshot, marker, limit)
        )
        return _read_holders(connection, snapshot, roots.union(*domains), others)

    for _ in range(ATTEMPTS):
        after, holders = scenario_with(request, scenario, named, read)
        domains = _domains(after, part)
        roots = frozenset[int]().union(*[domain.roots for domain in domains.items])
        if all(root in holders.roots or not after.given.has_provider(root) for root in roots):
            return _held_in(after, domains, holders)
    raise InsightBusy


def read_page_of_roots(snapshots: SnapshotKeeper, marker: str, limit: int) -> DomainPage:
    """Return the first `limit` trees after a marker, each as a domain of the present cloud.

    :raises errors.DatabaseUnavailable: the database does not answer
    """

    def read(connection: Connection, snapshot: Snapshot) -> DomainPage:
        domains = _bounded(*root_domains(snapshot, marker, limit))
        roots = frozenset[int]().union(*[domain.roots for domain in domains.items])
        holders = _read_holders(connection, snapshot, roots, ())
        return _held_in(Scenario(snapshot, {}, SlicedWork()), domains, holders)

    return snapshots.read_at_one_moment(read)


def _guess_roots(snapshot: Snapshot, marker: str, limit: int) -> list[frozenset[int]]:
    """Return the trees of a page before the steps, which most steps leave alone."""
    return [domain.roots for domain in root_domains(snapshot, marker, limit)[0]]


def _read_holders(
    connection: Connection, snapshot: Snapshot, roots: frozenset[int], others: Collection[str]
) -> Holders:
    # The database has no ids of copies that the scenario adds.
    stored = [root for root in roots if snapshot.has_provider(root)]
    held = statements.list_held_of_trees(connection, stored) if stored else {}
    elsewhere = statements.list_held(connection, others) if others else {}
    of_all = (*held.values(), *elsewhere.values())
    if not all(snapshot.has_provider(i) for of_consumer in of_all for i in of_consumer):
        raise FeedBypassed
    return Holders(roots, held, elsewhere)


def _held_in(after: Scenario, domains: Page[Domain], holders: Holders) -> DomainPage:
    """Return the page after the steps, without released consumers, with claimed ones."""
    root_of = after.snapshot.indexes.roots
    claimed = {f'claimed by the scenario: {n}': each for n, each in enumerate(after.claimed, 1)}
    held = dict(_still_held(after, {**holders.held, **claimed}))
    by_root: dict[int, dict[str, Held]] = defaultdict(dict)
    for consumer, of_consumer in SlicedWork().paused(list(held.items())):
        for provider_id in of_consumer:
            by_root[root_of[provider_id]][consumer] = of_consumer
    return DomainPage(after, domains, by_root, dict(_still_held(after, holders.others)))


def _still_held(after: Scenario, held: Mapping[str, Held]) -> Iterator[tuple[str, Held]]:
    """Yield the allocations that neither a release nor a removal has taken away."""
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
    """Return a named domain.

    :raises StepRefused: the aggregate has no trees, or a provider is not a root
    """
    if isinstance(where, Mapping):
        aggregate = where['member_of']
        if aggregate not in by_aggregate:
            raise StepRefused(f'no tree has its root in aggregate {aggregate!r}')
        return Domain(name, by_aggregate[aggregate], frozenset([aggregate]))
    return Domain(name, frozenset([after.root(uuid_or_name).id for uuid_or_name in where]))


def _bounded(domains: Sequence[Domain], has_more: bool) -> Page[Domain]:
    """Return the page, cut at `MAX_TREES`."""
    trees = 0
    for number, domain in enumerate(domains, 1):
        trees += len(domain.roots)
        if trees >= MAX_TREES and number < len(domains):
            return Page(domains[:number], has_more=True)
    return Page(domains, has_more)
