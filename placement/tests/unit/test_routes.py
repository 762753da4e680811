# SPDX-License-Identifier: Apache-2.0
"""The URL map (specification: http, "Routes", "Order of checks")."""

import collections

from oslo_policy.policy import DocumentedRuleDefault

from placement import routes
from placement.policies import rules

PROVIDER = '/resource_providers/{uuid}'


def test_every_action_but_the_root_has_one_route() -> None:
    count = collections.Counter(route.action for route in routes.ROUTES)

    assert [action for action, routed in count.items() if routed > 1] == ['root.show']


def test_one_rule_guards_each_route_but_the_root() -> None:
    described = [rule for rule in rules.RULES if isinstance(rule, DocumentedRuleDefault)]
    guarded = [(o['method'], o['path']) for rule in described for o in rule.operations]

    assert sorted(guarded) == sorted((r.method, r.path) for r in routes.ROUTES if not r.is_public)
    assert {r.path for r in routes.ROUTES if r.is_public} == {'/', ''}


def test_only_deletion_of_all_inventories_is_405_before_its_introduction() -> None:
    assert [
        (route.method, route.path) for route in routes.ROUTES if route.status_before == 405
    ] == [('DELETE', PROVIDER + '/inventories')]


def test_only_aggregates_check_media_types_before_the_version() -> None:
    assert {r.path for r in routes.ROUTES if r.body_before_version} == {PROVIDER + '/aggregates'}


def test_every_get_with_a_body_requires_that_json_is_accepted() -> None:
    """Except for the root, and for a trait, which is answered without a body."""
    silent = [r.path for r in routes.ROUTES if r.method == 'GET' and not r.replies_json]

    assert silent == ['/', '', '/traits/{name}']
    assert {r.method for r in routes.ROUTES if r.replies_json} == {'GET'}
