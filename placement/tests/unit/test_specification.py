# SPDX-License-Identifier: Apache-2.0
"""The tables of the specification say what the code declares."""

import importlib
import pkgutil
import re
import types

import os_resource_classes
import pytest
from docutils import nodes
from oslo_config import cfg
from oslo_policy.policy import DocumentedRuleDefault

from placement import errors, microversions, policies, routes
from placement.conf import opts
from placement.db.schema import own_migrations, own_tables, revisions
from placement.db.schema.migrations import versions
from placement.tests.unit import specification
from placement.tests.unit.db.schema import expected_schema


def test_the_routes_have_these_paths_and_methods() -> None:
    specified = {
        path.partition(' and ')[0]: methods
        for path, methods, _since in specification.rows_of('http', 'Routes')
    }
    declared: dict[str, list[str]] = {}
    for route in routes.ROUTES:
        if route.path:
            declared.setdefault(route.path, []).append(route.method)
    assert specified == {path: ', '.join(methods) for path, methods in declared.items()}


def test_the_routes_exist_since_these_microversions() -> None:
    specified = {
        path.partition(' and ')[0]: since.partition(';')[0]
        for path, _methods, since in specification.rows_of('http', 'Routes')
    }
    declared: dict[str, str] = {}
    for api in microversions.APIS.values():
        for route in routes.ROUTES:
            if route.path and route.action in api.handlers:
                declared.setdefault(route.path, str(api.version))
    assert specified == declared


def test_the_error_codes_are_these() -> None:
    specified = [code for code, _used_for in specification.rows_of('http', 'Error codes')]
    declared = {
        value for name, value in vars(errors).items() if name.isupper() and isinstance(value, str)
    }
    assert sorted(specified) == sorted(declared)


def test_the_microversions_are_these() -> None:
    specified = [version for version, _change in specification.rows_of('microversions', 'History')]
    assert specified == [change.version for change in microversions.HISTORY]


def test_the_base_rules_are_these() -> None:
    specified = [
        (name, default, None if scope == 'none' else [scope])
        for name, default, scope in specification.rows_of('policy', 'Base rules')
    ]
    declared = [
        (rule.name, rule.check_str, rule.scope_types)
        for rule in policies.list_rules()
        if not rule.name.startswith('placement:')
    ]
    assert specified == declared


ABBREVIATED = {
    'AS': 'rule:admin_or_service_api',
    'ARS': 'rule:admin_or_project_reader_or_service_api',
}


def test_the_route_rules_are_these() -> None:
    specified = {
        name: (ABBREVIATED.get(default, default), route.replace('…', '/resource_providers/{uuid}'))
        for name, default, route in specification.rows_of('policy', 'Route rules')
    }
    declared = {
        rule.name: (
            rule.check_str,
            ', '.join(f'{place["method"]} {place["path"]}' for place in rule.operations),
        )
        for rule in policies.list_rules()
        if isinstance(rule, DocumentedRuleDefault)
    }
    assert specified == declared


SPOKEN = {'None': 'none', 'True': 'true', 'False': 'false', '': 'empty'}
# Those that depend on where the package is, or on another option.
DEFAULTS = {
    'pybasedir': 'parent directory of the package',
    'state_path': '$pybasedir',
    'incomplete_consumer_project_id': 'uuid of zeros',
    'incomplete_consumer_user_id': 'same',
}


KINDS = {
    'string': cfg.StrOpt, 'choice': cfg.StrOpt, 'boolean': cfg.BoolOpt, 'integer': cfg.IntOpt,
    'float': cfg.FloatOpt, 'list': cfg.ListOpt,
}  # fmt: skip


def test_the_options_have_these_types_and_defaults() -> None:
    specified = {
        (section[0].astext().strip('[]'), name): (kind, default.partition(' — ')[0])
        for section in specification.section_of('configuration', 'Options').findall(nodes.section)
        if section[0].astext().startswith('[')
        for name, kind, default, *_ in specification.rows_of('configuration', section[0].astext())
    }
    # Those of oslo.log are in one row.
    specified.pop(('DEFAULT', 'logging options'))
    declared = {
        (str(group), option.name): option
        for group, options in opts.list_opts()
        for option in options
    }
    defaults = {
        place: DEFAULTS.get(option.name, SPOKEN.get(str(option.default), str(option.default)))
        for place, option in declared.items()
    }
    assert {place: default for place, (_kind, default) in specified.items()} == defaults
    for place, (kind, _default) in specified.items():
        word = re.split(r'[ ,]', kind)[0]
        assert type(declared[place]) is KINDS[word], place
        assert declared[place].secret == ('secret' in kind), place
        assert (declared[place].help or '').strip(), place


# The tables of the database that have a table on the page; the others are sentences.
TABULATED = [
    'resource_providers', 'inventories', 'allocations', 'consumers', 'resource_provider_traits',
]  # fmt: skip


@pytest.mark.parametrize('name', TABULATED)
def test_a_table_has_these_columns(name: str) -> None:
    specified = [
        column
        for row in specification.rows_of('data_model', name)
        for column in row[0].split(', ')
    ]
    assert specified == list(expected_schema.UPSTREAM_TABLES[name].columns)


def chain_of(package: types.ModuleType) -> list[str]:
    """The revisions of a package in their order, the newest marked as the page marks it."""
    modules = [
        importlib.import_module(f'{package.__name__}.{module.name}')
        for module in pkgutil.iter_modules(package.__path__)
    ]
    following = {module.down_revision: module.revision for module in modules}
    chain: list[str] = []
    while (last := chain[-1] if chain else None) in following:
        chain.append(following[last])
    return [*chain[:-1], f'{chain[-1]} (head)']


def test_the_upstream_revisions_are_these() -> None:
    specified = [
        revision
        for _order, revision, _content in specification.rows_of('data_model', 'Migrations')
    ]
    assert specified == chain_of(versions)


def test_the_revisions_of_this_service_alone_are_these() -> None:
    rows = specification.rows_of('data_model', 'Tables of this service alone', place=1)
    assert [revision for _order, revision, _content in rows] == chain_of(own_migrations)


def test_the_tables_of_this_service_alone_are_these() -> None:
    specified = [
        name for name, _ in specification.rows_of('data_model', 'Tables of this service alone')
    ]
    assert specified == [*own_tables.metadata.tables, revisions.OWN.table]


def test_the_standard_classes_have_these_ids() -> None:
    cells = [
        cell for row in specification.rows_of('data_model', 'Resource class ids') for cell in row
    ]
    specified = {int(number): name for number, name in zip(cells[::2], cells[1::2], strict=True)}
    assert specified == dict(enumerate(os_resource_classes.STANDARDS))
