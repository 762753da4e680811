# SPDX-License-Identifier: Apache-2.0
"""Authorisation by policy rules, and policy files that are added, changed and removed."""

import os
import pathlib
import warnings
from typing import Any

import pytest
from oslo_config import cfg
from oslo_policy import policy as oslo_policy

from placement import conf as placement_conf
from placement import errors, policies
from placement.context import RequestContext
from placement.policies import enforcer as policy

RULE = 'placement:traits:list'


@pytest.fixture
def conf(tmp_path: pathlib.Path) -> cfg.ConfigOpts:
    tmp_path.joinpath('placement.conf').write_text(
        '[placement_database]\nconnection = sqlite://\n'
        '[oslo_policy]\nenforce_new_defaults = false\n'
    )
    return placement_conf.load(environ={'OS_PLACEMENT_CONFIG_DIR': str(tmp_path)})


def caller(*roles: str, **identity: Any) -> RequestContext:
    identity = {'user_id': 'user', 'project_id': 'project', **identity}
    return RequestContext(roles=list(roles), **identity)


def allows(enforcer: policy.Enforcer, *roles: str) -> bool:
    try:
        enforcer.authorise(caller(*roles), RULE, 'project')
    except errors.PolicyNotAuthorised:
        return False
    return True


def test_every_rule_of_a_route_is_for_projects_alone() -> None:
    rules = [rule for rule in policies.list_rules() if rule.name.startswith('placement:')]
    assert {tuple(rule.scope_types or ()) for rule in rules} == {('project',)}


@pytest.mark.parametrize(
    ('rule', 'context'),
    [
        (RULE, caller('admin', 'service', project_id=None, domain_id='domain')),
        (RULE, caller('reader', service_roles=['admin', 'service'])),
        ('placement:usages', caller('reader', project_id=None)),
    ],
    ids=['domain', 'roles of a service token', 'no project'],
)
def test_caller_without_role_in_a_project_is_refused(
    conf: cfg.ConfigOpts, rule: str, context: RequestContext
) -> None:
    with pytest.raises(errors.PolicyNotAuthorised):
        policy.Enforcer(conf).authorise(context, rule, None)


def test_enforcer_raises_for_a_rule_that_is_not_registered(conf: cfg.ConfigOpts) -> None:
    with pytest.raises(oslo_policy.PolicyNotRegistered):
        policy.Enforcer(conf).authorise(caller('admin'), 'placement:nonsense', 'project')


def test_enforcer_does_not_warn_of_changed_defaults(conf: cfg.ConfigOpts) -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter('always')
        allows(policy.Enforcer(conf), 'admin')

    assert found == []


def test_override_of_the_admin_rule_does_not_change_other_rules(
    conf: cfg.ConfigOpts, tmp_path: pathlib.Path
) -> None:
    tmp_path.joinpath('policy.yaml').write_text('"admin_api": "role:librarian"\n')
    enforcer = policy.Enforcer(conf)

    assert allows(enforcer, 'admin')
    assert not allows(enforcer, 'librarian')

    # The rule that others name changes all of them.
    tmp_path.joinpath('policy.d').mkdir()
    tmp_path.joinpath('policy.d/base.yaml').write_text(
        '"admin_or_service_api": "role:librarian"\n'
    )
    assert allows(enforcer, 'librarian')


@pytest.mark.parametrize('name', ['policy.yaml', 'policy.d/more.yaml'])
def test_enforcer_notices_a_policy_file_that_is_added_changed_and_removed(
    conf: cfg.ConfigOpts, tmp_path: pathlib.Path, name: str
) -> None:
    """Add, change and remove the policy file, or a file in the policy directory."""
    file = tmp_path / name
    if file.name != name:
        file.parent.mkdir()
        (tmp_path / 'policy.yaml').write_text(f'"{RULE}": "role:admin"\n')
    enforcer = policy.Enforcer(conf)
    assert allows(enforcer, 'admin')

    file.write_text(f'"{RULE}": "role:aaa"\n')
    os.utime(file, ns=(1, 1))
    assert allows(enforcer, 'aaa')
    assert not allows(enforcer, 'admin')

    # The size stays the same.
    file.write_text(f'"{RULE}": "role:bbb"\n')
    assert allows(enforcer, 'bbb')

    file.unlink()
    assert allows(enforcer, 'admin')
    assert not allows(enforcer, 'bbb')


CYCLIC = f'"{RULE}": "role:librarian or rule:{RULE}"\n'


@pytest.mark.parametrize('text', ['{ this is: [no policy', CYCLIC])
def test_unusable_file_leaves_the_previous_rules_in_force(
    conf: cfg.ConfigOpts, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    file = tmp_path / 'policy.yaml'
    file.write_text(f'"{RULE}": "role:librarian"\n')
    enforcer = policy.Enforcer(conf)
    file.write_text(text)

    assert allows(enforcer, 'librarian')
    assert not allows(enforcer, 'admin')
    (line,) = [r.getMessage() for r in caplog.records if r.name == 'placement.policy']
    assert text is not CYCLIC or RULE in line
    assert line.count('the previous rules stay in force') == 1
    assert '\n' not in line


def test_enforcer_does_not_start_with_a_rule_that_refers_to_itself(
    conf: cfg.ConfigOpts, tmp_path: pathlib.Path
) -> None:
    tmp_path.joinpath('policy.yaml').write_text(CYCLIC)

    with pytest.raises(oslo_policy.InvalidDefinitionError, match=RULE):
        policy.Enforcer(conf)


def test_file_with_an_undefined_rule_is_accepted_and_refuses_what_it_guards(
    conf: cfg.ConfigOpts, tmp_path: pathlib.Path
) -> None:
    tmp_path.joinpath('policy.yaml').write_text(f'"{RULE}": "rule:nonsense"\n')

    assert not allows(policy.Enforcer(conf), 'admin')


def test_rule_that_cannot_be_evaluated_refuses_the_request(
    conf: cfg.ConfigOpts, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    # Nobody listens there, and the library raises what the connection raises.
    tmp_path.joinpath('policy.yaml').write_text(f'"{RULE}": "http://127.0.0.1:1/ask"\n')

    with pytest.raises(errors.PolicyNotAuthorised) as refusal:
        policy.Enforcer(conf).authorise(caller('admin'), RULE, 'project')

    assert str(refusal.value) == f'Policy does not allow {RULE} to be performed.'
    assert [r.levelname for r in caplog.records if r.name == 'placement.policy'] == ['ERROR']


def test_enforcer_does_not_read_unchanged_files_again(
    conf: cfg.ConfigOpts, monkeypatch: pytest.MonkeyPatch
) -> None:
    enforcer = policy.Enforcer(conf)
    monkeypatch.setattr(policy, 'load_rules', lambda conf: pytest.fail('read again'))

    assert allows(enforcer, 'admin')


@pytest.mark.parametrize(('check', 'evaluated'), [('role:admin', 1), ('http://127.0.0.1:1/', 2)])
def test_allowed_question_is_evaluated_again_only_where_a_rule_asks_a_server(
    conf: cfg.ConfigOpts,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    check: str,
    evaluated: int,
) -> None:
    tmp_path.joinpath('policy.yaml').write_text(f'"placement:traits:show": "{check}"\n')
    enforcer = policy.Enforcer(conf)
    counted: list[str] = []
    monkeypatch.setattr(
        oslo_policy.Enforcer, 'authorize', lambda _rules, rule, *_, **__: counted.append(rule)
    )
    for _ in range(2):
        assert allows(enforcer, 'admin')
    assert counted == [RULE] * evaluated


@pytest.mark.parametrize('place', ['.', 'home/.placement', 'home'])
def test_policy_file_is_watched_where_oslo_config_finds_it(
    conf: cfg.ConfigOpts, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setenv('HOME', str(tmp_path / 'home'))
    tmp_path.joinpath('home/.placement').mkdir(parents=True)
    places = policy.list_places(conf)
    # The places before it have none.
    for directory in ('home', 'home/.placement', '.'):
        tmp_path.joinpath(directory, 'policy.yaml').touch()
        if directory == place:
            break
    ((found, *_),) = policy.find_files(places)
    assert found == conf.find_file('policy.yaml') == str(tmp_path / place / 'policy.yaml')


def test_enforcer_of_the_oslo_policy_tools_needs_no_database(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv('OS_PLACEMENT_DATABASE__CONNECTION', raising=False)
    monkeypatch.setenv('HOME', '/nonexistent')

    assert RULE in policy.get_enforcer().registered_rules


def test_enforcer_does_not_reuse_a_decision_for_another_project(conf: cfg.ConfigOpts) -> None:
    enforcer = policy.Enforcer(conf)
    rule = 'placement:usages'
    reader = caller('reader')
    enforcer.authorise(reader, rule, 'project')

    for project in ('other', None):
        with pytest.raises(errors.PolicyNotAuthorised):
            enforcer.authorise(reader, rule, project)
