# SPDX-License-Identifier: Apache-2.0
"""Every rule against every kind of caller (specification: policy)."""

import pytest
from oslo_config import cfg

from placement import conf as placement_conf
from placement import errors, policies
from placement.context import RequestContext
from placement.policies.enforcer import Enforcer

RULES = {rule.name.removeprefix('placement:'): rule for rule in policies.list_rules()}
ROUTE_RULES = [name for name, rule in RULES.items() if rule.name.startswith('placement:')]
ORDINARY = [name for name in ROUTE_RULES if RULES[name].check_str == 'rule:admin_or_service_api']


@pytest.fixture(scope='module', params=[True, False], ids=['new defaults', 'old defaults too'])
def enforcer(request: pytest.FixtureRequest) -> Enforcer:
    conf = cfg.ConfigOpts()
    placement_conf.register_opts(conf)
    conf.set_override('connection', 'sqlite://', 'placement_database')
    conf.set_override('enforce_new_defaults', request.param, 'oslo_policy')
    conf([], project='placement', default_config_files=[], default_config_dirs=[])
    return Enforcer(conf)


def allows(
    enforcer: Enforcer,
    rule: str,
    *roles: str,
    target: dict[str, str | None] | None = None,
    **identity: str,
) -> bool:
    context = RequestContext.from_dict(
        {'user': 'user', 'roles': list(roles), 'project_id': 'own', **identity}
    )
    try:
        enforcer.authorise(context, f'placement:{rule}', target)
    except errors.PolicyNotAuthorised:
        return False
    return True


def test_every_route_rule_is_for_projects_alone() -> None:
    assert {tuple(RULES[name].scope_types or ()) for name in ROUTE_RULES} == {('project',)}


@pytest.mark.parametrize('rule', ORDINARY)
def test_administrators_and_services_are_allowed_every_ordinary_rule(
    enforcer: Enforcer, rule: str
) -> None:
    assert allows(enforcer, rule, 'admin')
    assert allows(enforcer, rule, 'service')


@pytest.mark.parametrize('role', ['reader', 'member', 'manager'])
@pytest.mark.parametrize('rule', [*ORDINARY, 'reshaper:reshape'])
def test_policy_refuses_other_roles(enforcer: Enforcer, rule: str, role: str) -> None:
    assert not allows(enforcer, rule, role)
    assert not allows(enforcer, rule)


@pytest.mark.parametrize('rule', ROUTE_RULES)
def test_policy_refuses_tokens_of_every_other_scope(enforcer: Enforcer, rule: str) -> None:
    assert not allows(enforcer, rule, 'admin', 'service', 'reader', system_scope='all')
    assert not allows(enforcer, rule, 'admin', 'service', 'reader', domain='domain')


def test_reader_without_project_is_refused_a_target_without_project(
    enforcer: Enforcer,
) -> None:
    context = RequestContext(user_id='user', roles=['reader'])

    with pytest.raises(errors.PolicyNotAuthorised):
        enforcer.authorise(context, 'placement:usages', {'project_id': None})


def test_policy_compares_roles_case_insensitively(enforcer: Enforcer) -> None:
    assert allows(enforcer, 'traits:list', 'Admin')


def test_policy_ignores_the_roles_of_a_service_token(enforcer: Enforcer) -> None:
    context = RequestContext(
        user_id='user', project_id='own', roles=['reader'], service_roles=['admin', 'service']
    )

    with pytest.raises(errors.PolicyNotAuthorised):
        enforcer.authorise(context, 'placement:traits:list')
