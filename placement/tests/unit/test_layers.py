# SPDX-License-Identifier: Apache-2.0
"""Who may import whom, and where each library is at home.

The table is that of the architecture page. Imports made for the sake of types alone do not count.
"""

import ast
import graphlib
import pathlib
import sys
from collections.abc import Iterator

import pytest

PACKAGE = pathlib.Path(__file__).parents[2]

# A row may import the rows above it in this table, which are below it in the building.
ROWS = {
    'errors': 0, 'conf': 0, 'memory': 0, 'metrics': 0, 'lazy_imports': 0,
    'db': 1, 'search': 1, 'schemas': 1,
    'feed': 2, 'insight': 2,
    'objects': 3, 'context': 3,
    'http': 4, 'policy': 4, 'policies': 4,
    'handlers': 5,
    'history': 6,
    'routes': 7, 'middleware': 7, 'dispatch': 7, 'deploy': 7, 'openapi': 7, 'server': 7,
    'doctor': 7, 'demo': 7, 'exporter': 7,
    'wsgi': 8, 'cmd': 8, 'direct': 8, 'client': 8,
}  # fmt: skip

# Neighbours in a row that may be imported nevertheless: importer, imported.
NEIGHBOURS = {
    ('conf.libraries', 'lazy_imports'),
    ('objects', 'context'),
    ('http.candidate_query', 'http.microversion'),
    ('http.candidate_query', 'http.querystring'),
    ('http.candidate_views', 'http.reply'),
    ('http.cloud_views', 'http.reply'),
    ('http.cloud_views', 'http.views'),
    ('http.error_response', 'http.environ_keys'),
    ('http.microversion', 'http.reply'),
    ('http.microversion', 'http.validation'),
    ('http.querystring', 'http.microversion'),
    ('http.request', 'http.microversion'),
    ('http.request', 'http.querystring'),
    ('http.request', 'policy'),
    ('http.capacity_views', 'http.explanation_views'),
    ('http.insight_query', 'http.candidate_query'),
    ('http.cloud_query', 'http.insight_query'),
    ('http.cloud_query', 'http.querystring'),
    ('http.change_history_query', 'http.insight_query'),
    ('http.change_history_query', 'http.querystring'),
    ('http.change_history_views', 'http.insight_views'),
    ('http.change_history_views', 'http.views'),
    ('http.cloud_query', 'http.views'),
    ('http.insight_query', 'http.microversion'),
    ('http.insight_query', 'http.querystring'),
    ('http.insight_query', 'http.request'),
    ('http.insight_views', 'http.querystring'),
    ('http.conversions', 'http.microversion'),
    ('http.conversions', 'http.reply'),
    ('http.provider_list', 'http.reply'),
    ('http.provider_query', 'http.microversion'),
    ('http.provider_query', 'http.querystring'),
    ('http.provider_list', 'http.views'),
    ('policy', 'policies'),
    ('deploy', 'dispatch'),
    ('deploy', 'exporter'),
    ('deploy', 'middleware'),
    ('deploy', 'routes'),
    ('dispatch', 'routes'),
    ('openapi', 'routes'),
    ('cmd', 'wsgi'),
    ('cmd.manage', 'cmd.provider_identity'),
    ('cmd.demo', 'cmd.serve'),
    ('cmd.demo', 'direct'),
    ('cmd.manage', 'cmd.unusable_database'),
    ('cmd.status', 'cmd.unusable_database'),
}

# Packages whose modules may import each other, as long as there is no cycle.
OPEN_INSIDE = {
    'conf', 'db', 'feed', 'insight', 'search', 'schemas', 'objects', 'policies', 'middleware',
    'wsgi', 'client', 'openapi', 'server', 'doctor', 'demo', 'metrics', 'exporter',
}  # fmt: skip

# Packages that could be taken out of the building, with the libraries they may use.
STANDALONE: dict[str, set[str]] = {
    'search': set(),
    'client': {'keystoneauth1', 'yaml'},
    'server': {'httptools'},
}

HOMES = {
    'alembic': {'db'},
    'httptools': {'server.connection'},
    'jsonschema': {'http.validation'},
    'keystoneauth1': {'client', 'direct', 'doctor.identity'},
    'keystonemiddleware': {'deploy', 'middleware.identity', 'doctor.identity'},
    'oslo_config': {'conf', 'cmd'},
    'oslo_db': {'db'},
    'oslo_middleware': {'deploy', 'middleware', 'conf.libraries'},
    'oslo_policy': {'policy', 'policies', 'conf.libraries'},
    'oslo_versionedobjects': {'objects'},
    'prometheus_client': {'metrics', 'exporter'},
    'requests': {'direct'},
    'routes': {'dispatch'},
    'sqlalchemy': {'db', 'feed'},
    'webob': {'http.request', 'http.error_response', 'dispatch', 'middleware'},
    'yaml': {'client.clouds', 'exporter.named_files'},
}


def modules() -> dict[str, pathlib.Path]:
    """Every module of the service, by its name without ``placement.``; tests are none."""
    found = {}
    for path in sorted(PACKAGE.rglob('*.py')):
        parts = path.relative_to(PACKAGE).with_suffix('').parts
        if parts[0] == 'tests' or parts == ('__init__',):
            continue
        found['.'.join(part for part in parts if part != '__init__')] = path
    return found


def imports(source: str, name: str, is_package: bool = False) -> set[str]:
    """Full names of what a module imports when it runs, members of modules included."""
    package = ['placement', *name.split('.')]
    if not is_package:
        package.pop()
    found: set[str] = set()
    for node in running(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            origin = '.'.join([*above, *filter(None, [node.module])])
            found.update(f'{origin}.{alias.name}' for alias in node.names)
    return found


def running(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node, except for those under ``if TYPE_CHECKING:``."""
    yield tree
    children = list(ast.iter_child_nodes(tree))
    if isinstance(tree, ast.If) and ast.unparse(tree.test).endswith('TYPE_CHECKING'):
        children = list(tree.orelse)
    for child in children:
        yield from running(child)


def is_in(name: str, place: str) -> bool:
    return name == place or name.startswith(f'{place}.')


def complaint(importer: str, imported: str) -> str | None:
    """Why one module must not import a name; None when it may."""
    first, _, rest = imported.partition('.')
    if first == 'placement':
        return own_complaint(importer, rest) if rest else None
    top = importer.partition('.')[0]
    if first not in {*sys.stdlib_module_names, *STANDALONE.get(top, {first})}:
        return f'{importer} uses {first}, and {top} uses {sorted(STANDALONE[top])} at most'
    homes = HOMES.get(first)
    if homes is None or any(is_in(importer, home) for home in homes):
        return None
    return f'{importer} uses {first}, which is at home in {sorted(homes)}'


def own_complaint(importer: str, imported: str) -> str | None:
    """The same, for a module of the service; both without ``placement.``"""
    top, target = importer.partition('.')[0], imported.partition('.')[0]
    if top == target and top in OPEN_INSIDE:
        return None
    if top in STANDALONE:
        return f'{importer} imports {imported}, and {top} stands alone'
    if ROWS[target] < ROWS[top] or is_in(imported, importer):
        return None
    if any(is_in(importer, left) and is_in(imported, right) for left, right in NEIGHBOURS):
        return None
    return f'{importer} (row {ROWS[top]}) imports {imported} (row {ROWS[target]})'


@pytest.mark.parametrize('name', modules())
def test_a_module_imports_only_what_lies_below_it(name: str) -> None:
    path = modules()[name]
    found = imports(path.read_text(), name, is_package=path.name == '__init__.py')

    assert [words for other in sorted(found) if (words := complaint(name, other))] == []


def test_every_module_has_a_row() -> None:
    assert {name.partition('.')[0] for name in modules()} <= ROWS.keys()


@pytest.mark.parametrize('package', sorted(OPEN_INSIDE))
def test_modules_of_a_package_import_each_other_without_cycles(package: str) -> None:
    known = {name: path for name, path in modules().items() if is_in(name, package)}
    graph = {
        name: {
            other
            for found in imports(path.read_text(), name, path.name == '__init__.py')
            for other in known
            # A name in a module comes from that module; a package is not its own part.
            if other not in (name, package) and is_in(found, f'placement.{other}')
        }
        for name, path in known.items()
        if name != package
    }

    graphlib.TopologicalSorter(graph).prepare()


@pytest.mark.parametrize(
    ('importer', 'source'),
    [
        ('handlers.usages', 'from placement.handlers import traits'),
        ('objects.trait', 'from placement.handlers import traits'),
        ('objects.trait', 'import placement.http.reply'),
        ('db.engine.engines', 'from placement import policy'),
        ('db.engine.engines', 'from ... import deploy'),
        ('db.statements.traits', 'from placement.search.model import snapshot'),
        ('db.statements.traits', 'from placement.feed import change_feed'),
        ('http.reply', 'from placement.http import conversions'),
        ('errors', 'from placement import conf'),
        ('routes', 'from placement import dispatch'),
        ('handlers.usages', 'import sqlalchemy as sa'),
        ('search.solver.plan', 'import webob'),
        ('search.solver.plan', 'def f():\n    import sqlalchemy.orm'),
        ('search.solver.plan', 'from placement.feed import keeper'),
        ('deploy', 'from oslo_config import cfg'),
        ('client.session', 'from placement import errors'),
        ('client.session', 'from placement import direct'),
        ('client.session', 'import requests'),
        ('cmd.serve', 'from placement import client'),
    ],
)
def test_an_import_across_the_table_is_found(importer: str, source: str) -> None:
    assert [words for name in imports(source, importer) if (words := complaint(importer, name))]


@pytest.mark.parametrize(
    ('importer', 'source'),
    [
        ('feed.keeper', 'from placement.search.model import snapshot'),
        ('feed.keeper', 'from placement.search.model.snapshot import Snapshot'),
        ('handlers.usages', 'from placement import errors\nimport placement.http.reply'),
        ('objects.trait', 'from placement.objects import base'),
        ('http.request', 'from placement import policy'),
        (
            'client.session',
            'from keystoneauth1 import adapter\nfrom placement.client import errors',
        ),
        ('search.solver.plan', 'import functools\nfrom placement.search.model import snapshot'),
        ('context', 'from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import sqlalchemy'),
    ],
)
def test_an_import_that_the_table_allows_is_not(importer: str, source: str) -> None:
    assert not [
        words for name in imports(source, importer) if (words := complaint(importer, name))
    ]
