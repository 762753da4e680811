# SPDX-License-Identifier: Apache-2.0
"""Every rule against every kind of caller (specification: policy)."""

import subprocess
import sys

import pytest
from oslo_config import cfg

from placement import conf as placement_conf
from placement import errors, policies
from placement.context import RequestContext
from placement.policy import Enforcer

AS = 'rule:admin_or_service_api'
INVENTORIES = '/resource_providers/{uuid}/inventories'

BASE_RULES = [
    ('admin_api', 'role:admin', ['project']),
    ('service_api', 'role:service', ['project']),
    ('admin_or_service_api', 'role:admin or role:service', ['project']),
    ('project_reader_api', 'role:reader and project_id:%(project_id)s', None),
    (
        'admin_or_project_reader_or_service_api',
        'role:admin or rule:project_reader_api or role:service',
        ['project'],
    ),
]

ROUTE_RULES = [
    ('resource_providers:list', AS, 'GET /resource_providers'),
    ('resource_providers:create', AS, 'POST /resource_providers'),
    ('resource_providers:show', AS, 'GET /resource_providers/{uuid}'),
    ('resource_providers:update', AS, 'PUT /resource_providers/{uuid}'),
    ('resource_providers:delete', AS, 'DELETE /resource_providers/{uuid}'),
    ('resource_classes:list', AS, 'GET /resource_classes'),
    ('resource_classes:create', AS, 'POST /resource_classes'),
    ('resource_classes:show', AS, 'GET /resource_classes/{name}'),
    ('resource_classes:update', AS, 'PUT /resource_classes/{name}'),
    ('resource_classes:delete', AS, 'DELETE /resource_classes/{name}'),
    ('resource_providers:inventories:list', AS, f'GET {INVENTORIES}'),
    ('resource_providers:inventories:create', AS, f'POST {INVENTORIES}'),
    (
        'resource_providers:inventories:show',
        AS,
        f'GET {INVENTORIES}/{{resource_class}}',
    ),
    (
        'resource_providers:inventories:update',
        AS,
        f'PUT {INVENTORIES}, PUT {INVENTORIES}/{{resource_class}}',
    ),
    (
        'resource_providers:inventories:delete',
        AS,
        f'DELETE {INVENTORIES}, DELETE {INVENTORIES}/{{resource_class}}',
    ),
    ('resource_providers:aggregates:list', AS, 'GET /resource_providers/{uuid}/aggregates'),
    ('resource_providers:aggregates:update', AS, 'PUT /resource_providers/{uuid}/aggregates'),
    ('resource_providers:usages', AS, 'GET /resource_providers/{uuid}/usages'),
    ('usages', 'rule:admin_or_project_reader_or_service_api', 'GET /usages'),
    ('traits:list', AS, 'GET /traits'),
    ('traits:show', AS, 'GET /traits/{name}'),
    ('traits:update', AS, 'PUT /traits/{name}'),
    ('traits:delete', AS, 'DELETE /traits/{name}'),
    ('resource_providers:traits:list', AS, 'GET /resource_providers/{uuid}/traits'),
    ('resource_providers:traits:update', AS, 'PUT /resource_providers/{uuid}/traits'),
    ('resource_providers:traits:delete', AS, 'DELETE /resource_providers/{uuid}/traits'),
    ('allocations:manage', AS, 'POST /allocations'),
    ('allocations:list', AS, 'GET /allocations/{consumer_uuid}'),
    ('allocations:update', AS, 'PUT /allocations/{consumer_uuid}'),
    ('allocations:delete', AS, 'DELETE /allocations/{consumer_uuid}'),
    ('resource_providers:allocations:list', AS, 'GET /resource_providers/{uuid}/allocations'),
    ('allocation_candidates:list', AS, 'GET /allocation_candidates'),
    ('reshaper:reshape', 'rule:service_api', 'POST /reshaper'),
    ('insight:show', AS, 'GET /insight'),
    ('insight:allocation_candidates', AS, 'GET /insight/allocation_candidates'),
    ('insight:capacity', AS, 'GET /insight/capacity, POST /insight/capacity'),
    ('insight:unmet_demand', AS, 'GET /insight/unmet_demand'),
    ('insight:providers', AS, 'GET /insight/providers'),
    ('insight:consumers', AS, 'GET /insight/consumers'),
    ('insight:usages', AS, 'GET /insight/usages'),
    ('insight:changes', AS, 'GET /insight/changes'),
    ('insight:history', 'rule:admin_api', 'GET /insight/history'),
]

ORDINARY = [name for name, check, _ in ROUTE_RULES if check == AS]
ALL = [name for name, _, _ in ROUTE_RULES]


@pytest.fixture(scope='module', params=[True, False], ids=['new defaults', 'old defaults too'])
def enforcer(request: pytest.FixtureRequest) -> Enforcer:
    return make_enforcer(request.param)


def make_enforcer(new_defaults: bool) -> Enforcer:
    conf = cfg.ConfigOpts()
    placement_conf.register_opts(conf)
    conf.set_override('connection', 'sqlite://', 'placement_database')
    conf.set_override('enforce_new_defaults', new_defaults, 'oslo_policy')
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


def test_base_rules_are_those_of_the_specification() -> None:
    found = [(rule.name, rule.check_str, rule.scope_types) for rule in policies.list_rules()]

    assert found[: len(BASE_RULES)] == BASE_RULES


def test_every_base_rule_but_admin_has_a_deprecated_predecessor() -> None:
    rules = [rule for rule in policies.list_rules() if not rule.name.startswith('placement:')]
    predecessors = {
        rule.name: rule.deprecated_rule.check_str for rule in rules if rule.deprecated_rule
    }

    assert predecessors == {name: 'role:admin' for name, _, _ in BASE_RULES if name != 'admin_api'}


def test_route_rules_are_those_of_the_specification() -> None:
    found = [
        (
            rule.name.removeprefix('placement:'),
            rule.check_str,
            ', '.join(f'{route["method"]} {route["path"]}' for route in rule.operations),
        )
        for rule in policies.list_rules()
        if isinstance(rule, policies.policy.DocumentedRuleDefault)
    ]

    assert sorted(found) == sorted(ROUTE_RULES)


def test_every_route_rule_is_for_projects_alone() -> None:
    rules = [rule for rule in policies.list_rules() if rule.name.startswith('placement:')]

    assert {tuple(rule.scope_types or ()) for rule in rules} == {('project',)}


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


@pytest.mark.parametrize('rule', ALL)
def test_policy_refuses_every_system_scoped_token(enforcer: Enforcer, rule: str) -> None:
    assert not allows(enforcer, rule, 'admin', 'service', 'reader', system_scope='all')


@pytest.mark.parametrize('rule', ALL)
def test_policy_refuses_every_domain_scoped_token(enforcer: Enforcer, rule: str) -> None:
    assert not allows(enforcer, rule, 'admin', 'service', 'reader', domain='domain')


def test_services_may_reshape(enforcer: Enforcer) -> None:
    assert allows(enforcer, 'reshaper:reshape', 'service')


def test_administrators_are_allowed_to_reshape_by_the_old_defaults_only() -> None:
    assert not allows(make_enforcer(True), 'reshaper:reshape', 'admin')
    assert allows(make_enforcer(False), 'reshaper:reshape', 'admin')


@pytest.mark.parametrize('role', ['admin', 'service'])
@pytest.mark.parametrize('project', ['own', 'other', None])
def test_administrators_and_services_see_the_usage_of_any_project(
    enforcer: Enforcer, role: str, project: str | None
) -> None:
    assert allows(enforcer, 'usages', role, target={'project_id': project})


def test_readers_see_the_usage_of_their_own_project(enforcer: Enforcer) -> None:
    assert allows(enforcer, 'usages', 'reader', target={'project_id': 'own'})
    assert allows(enforcer, 'usages', 'member', 'reader', target={'project_id': 'own'})
    assert not allows(enforcer, 'usages', 'reader', target={'project_id': 'other'})
    assert not allows(enforcer, 'usages', 'reader', target={'project_id': None})
    assert not allows(enforcer, 'usages', 'member', target={'project_id': 'own'})
    assert not allows(enforcer, 'usages', target={'project_id': 'own'})


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


def test_sample_policy_file_has_every_rule() -> None:
    generate = 'from oslo_policy import generator; generator.generate_sample()'
    command = [sys.executable, '-c', generate, '--namespace', 'placement']
    sample = subprocess.run(command, check=True, capture_output=True, text=True).stdout

    for name in ALL:
        assert f'#"placement:{name}": ' in sample
