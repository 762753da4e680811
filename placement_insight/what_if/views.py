# SPDX-License-Identifier: Apache-2.0
"""Outcomes of scenarios, losses of domains and moves as JSON (specification: insight)."""

from collections.abc import Iterable, Mapping, Sequence

from placement.search.model.provider import Provider
from placement.search.model.snapshot import Snapshot
from placement_insight.explain.views import Names, provider
from placement_insight.paging import members
from placement_insight.search.sentences import summary
from placement_insight.search.what_if.drain import DrainPlan, Move, Staying
from placement_insight.search.what_if.filling import Fullness
from placement_insight.search.what_if.left import Left
from placement_insight.search.what_if.moves import Moves, Refused, WantedMove
from placement_insight.search.what_if.relocation import Unplaced
from placement_insight.search.what_if.scenario import Scenario, StepOutcome
from placement_insight.search.what_if.survival import DomainLoss

# Maximum number of providers over capacity that are shown.
MAX_OVER_CAPACITY = 20


def uuids_in(scenario: Scenario) -> set[str]:
    """Return the uuids of the providers that the outcome of a scenario mentions."""
    over = {provider.uuid for provider in scenario.over_capacity[:MAX_OVER_CAPACITY]}
    return over | uuids_lacking(outcome for _, outcome in scenario.outcomes)


def scenario(after: Scenario, names: Names) -> dict[str, object]:
    """Return a row for each step, and the providers that are over capacity afterwards."""
    rows = [_row(verb, outcome, names) for verb, outcome in after.outcomes]
    return {'scenario': rows, 'over_capacity': over_capacity(after, names)}


def over_capacity(after: Scenario, names: Names) -> dict[str, object]:
    """Return the number of providers over capacity, and the first of them."""
    over = after.over_capacity
    return {
        'count': len(over),
        'providers': [_over(record, names) for record in over[:MAX_OVER_CAPACITY]],
    }


def _row(verb: str, outcome: StepOutcome, names: Names) -> dict[str, object]:
    explanation = outcome.explanation
    return {
        'step': verb,
        **members(outcome, 'trees', 'consumers', 'gone', 'claimed'),
        'summary': None if explanation is None else summary(explanation, names),
    }


def _over(record: Provider, names: Names) -> dict[str, object]:
    return provider(record.uuid, names) | {
        'resources': {
            name: {'capacity': capacity.reported_capacity, 'used': used}
            for name, capacity, used in record.inventories
            if used > capacity.ceiling
        }
    }


def uuids_lacking(lacking: Iterable[Unplaced | StepOutcome]) -> set[str]:
    """Return the uuids of the providers that the reasons for a lack mention."""
    explanations = [each.explanation for each in lacking]
    return {uuid for answer in explanations if answer for uuid in answer.disabled.roots}


def loss(outcome: DomainLoss, domain_names: Names, names: Names) -> dict[str, object]:
    """Return the outcome of losing a domain."""
    consumers, known = outcome.consumers, outcome.known_requests
    return {
        **members(outcome, 'domain'),
        # The operator's file of names may have uuids in upper case.
        'name': domain_names.get(outcome.domain) or domain_names.get(outcome.domain.lower()),
        **members(outcome, 'consumers'),
        'known': None
        if consumers is None or known is None
        else {'requests': known, 'amounts': consumers - known},
        **members(outcome, 'placed', 'placed_alike', 'survives'),
        'exact': outcome.is_exact,
        'lacking': _sums(outcome.lacking),
        'unplaced': [
            {'consumer': each.consumer, 'lacks': _lacks(each, names)} for each in outcome.unplaced
        ],
    }


def left(requests: Iterable[str], counted: Mapping[str, Left]) -> dict[str, object] | None:
    """Return how many times each request still fits after the worst loss; null for none."""
    if not counted:
        return None
    return {name: counted[name]._asdict() for name in requests}


def uuids_in_plan(drained: DrainPlan) -> set[str]:
    """Return the uuids of the providers that a plan mentions."""
    sources = [move.sources for move in drained.moves]
    sources += [staying.sources for staying in drained.unplaced]
    return (
        uuids_lacking([each.lacking for each in drained.unplaced])
        | {source.uuid for of_consumer in sources for source in of_consumer}
        | {move.target.uuid for move in drained.moves}
    )


def plan(drained: DrainPlan, snapshot: Snapshot, names: Names) -> dict[str, object]:
    """Return the plan of a drain."""
    return {
        'moves': [_move(move, snapshot, names) for move in drained.moves],
        'unplaced': [_staying(each, names) for each in drained.unplaced],
        'at_once': drained.at_once,
        'fullest': _fullest(drained.fullest, names),
    }


def _move(made: Move, snapshot: Snapshot, names: Names) -> dict[str, object]:
    return {
        'consumer': made.consumer,
        'from': [provider(source.uuid, names) for source in made.sources],
        'to': provider(made.target.uuid, names),
        'allocations': {
            snapshot.provider(provider_id).uuid: {'resources': _sums(amounts)}
            for provider_id, amounts in made.holds.items()
        },
        'known': _known(made.is_alike is None),
        'alike': made.is_alike,
    }


def _staying(consumer: Staying, names: Names) -> dict[str, object]:
    return {
        'consumer': consumer.lacking.consumer,
        'from': [provider(source.uuid, names) for source in consumer.sources],
        'known': _known(consumer.is_known),
        'lacks': _lacks(consumer.lacking, names),
    }


def _known(is_request: bool) -> str:
    return 'request' if is_request else 'amounts'


def _fullest(trees: Iterable[Fullness], names: Names) -> list[dict[str, object]]:
    """Return the fullest trees, each with its fullest resource class."""
    return [
        {
            'provider': provider(each.root.uuid, names),
            **members(each, 'resource_class', 'used', 'capacity'),
        }
        for each in trees
    ]


def uuids_of_moves(made: Moves, wanted: Sequence[WantedMove], refused: Refused | None) -> set[str]:
    """Return the uuids of the providers that the verdict on moves mentions."""
    chosen = {root.uuid for number, root in made.places.items() if wanted[number - 1].root is None}
    mentioned = chosen | {each.root.uuid for each in made.fullest}
    if refused is not None:
        target = wanted[refused.number - 1].root
        mentioned |= uuids_lacking([refused.lacking]) | ({target.uuid} if target else set())
    return mentioned


def verdict(
    made: Moves, wanted: Sequence[WantedMove], refused: Refused | None, names: Names
) -> dict[str, object]:
    """Return the verdict on moves, the chosen targets, and the fullest trees afterwards."""
    return {
        'possible': refused is None,
        'refused': None if refused is None else _refused(refused, wanted, names),
        'places': [
            {'number': number, 'to': provider(root.uuid, names)}
            for number, root in made.places.items()
            if wanted[number - 1].root is None
        ],
        'fullest': _fullest(made.fullest, names),
    }


def _refused(refused: Refused, wanted: Sequence[WantedMove], names: Names) -> dict[str, object]:
    target = wanted[refused.number - 1].root
    return {
        'number': refused.number,
        'consumer': refused.lacking.consumer,
        'to': None if target is None else provider(target.uuid, names),
        'lacks': _lacks(refused.lacking, names),
    }


def _sums(amounts: Mapping[str, int]) -> dict[str, int]:
    return {name: amounts[name] for name in sorted(amounts)}


def _lacks(unplaced: Unplaced, names: Names) -> str:
    explanation = unplaced.explanation
    explained = '' if explanation is None else summary(explanation, names, keeps_amounts=True)
    return f'{explained} {unplaced.words}'.strip()
