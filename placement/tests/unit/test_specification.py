# SPDX-License-Identifier: Apache-2.0
"""The tables of the specification say what the code declares."""

import importlib
import pkgutil
import re
import types
from typing import Any

import pytest
import sqlalchemy as sa
from docutils import nodes
from oslo_config import cfg
from oslo_policy.policy import DocumentedRuleDefault

from placement import errors, microversions, policies
from placement.conf import opts
from placement.db.schema import own_migrations, own_tables, revisions, tables
from placement.db.schema.migrations import versions
from placement.routes import installed_surface
from placement.tests.unit import specification


def test_the_routes_have_these_paths_and_methods_since_these_microversions() -> None:
    specified = {
        path.partition(' and ')[0]: (methods, since.partition(';')[0])
        for path, methods, since in specification.rows_of('http', 'Routes')
    }
    methods: dict[str, list[str]] = {}
    versions: dict[str, str] = {}
    for route in installed_surface().routes:
        methods.setdefault(route.path, []).append(route.method)
        for api in installed_surface().apis.values():
            if route.action in api.handlers:
                # The first of its actions introduces a path.
                versions[route.path] = min(
                    versions.get(route.path, str(api.version)), str(api.version),
                    key=lambda version: int(version.partition('.')[2]),
                )  # fmt: skip
    assert specified == {
        path: (', '.join(methods[path]), versions[path]) for path in methods if path
    }


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


OWN = 'Tables of this service alone'
CODES = [
    value for name, value in vars(errors).items() if name.isupper() and isinstance(value, str)
]


@pytest.mark.parametrize(
    ('page', 'title', 'place', 'column', 'declared'),
    [
        ('http', 'Error codes', 0, 0, CODES),
        ('data_model', 'Migrations', 0, 1, chain_of(versions)),
        ('data_model', OWN, 0, 0, [*own_tables.metadata.tables, revisions.OWN.table]),
        ('data_model', OWN, 1, 1, chain_of(own_migrations)),
    ],
)  # fmt: skip
def test_a_table_lists_these(
    page: str, title: str, place: int, column: int, declared: list[str]
) -> None:
    rows = specification.rows_of(page, title, place)
    names = [name for row in rows for name in row[column].split(', ')]
    assert names == declared or (declared is CODES and sorted(names) == sorted(declared))


def test_the_history_has_details_of_declared_versions_in_their_order() -> None:
    detailed = [version for version, _change in specification.rows_of('microversions', 'History')]
    declared = [change.version for change in microversions.HISTORY]
    assert detailed == [version for version in declared if version in detailed]


def type_of(column: sa.Column[Any]) -> str:
    """The type of a column as the page writes it."""
    length = getattr(column.type, 'length', None)
    return type(column.type).__name__ + (f'({length})' if length else '')


# Those that have a table on the page; the others are sentences.
@pytest.mark.parametrize(
    'name',
    ['resource_providers', 'inventories', 'allocations', 'consumers', 'resource_provider_traits'],
)
def test_an_upstream_table_has_these_columns(name: str) -> None:
    specified = [
        (column, kind, null[0] if null else 'no')
        for columns, kind, *null, _notes in specification.rows_of('data_model', name)
        for column in columns.split(', ')
    ]
    _created_at, _updated_at, *columns = tables.metadata.tables[name].columns
    assert specified == [
        (column.name, type_of(column), 'yes' if column.nullable else 'no') for column in columns
    ]


def test_the_indexes_and_constraints_of_upstream_tables_have_these_names() -> None:
    literals = specification.section_of('data_model', 'Tables').findall(nodes.literal)
    specified = {node.astext() for node in literals}
    upstream = tables.metadata.tables.values()
    indexes = {index.name for table in upstream for index in table.indexes}
    constraints = {one.name for table in upstream for one in table.constraints}
    named = {name for name in specified if re.search('^uniq_|_idx$|_fkey$', name)}
    assert named == (indexes | constraints) - {None}


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
    'spread_classes': 'NET_BW_*, NET_PACKET_RATE_*',
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
