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

# A row may import the rows above it in this table, which are below it in the building. A package
# of a package may have a row of its own, and so have modules of insight, by their names.
ROWS = {
    'errors': 0, 'conf': 0, 'metrics': 0,
    'db': 1, 'search': 1, 'schemas': 1,
    'feed.commit_outcome': 2,
    'db.engine.database': 3,
    'feed': 4, 'insight': 4, 'context': 4,
    'objects': 5, 'policies': 5,
    'http': 6,
    'insight.paging': 7, 'insight.*.views': 7, 'insight.*.pages': 7,
    'insight.*.scenarios': 7,
    'handlers': 8, 'insight.*.handlers': 8, 'objects.provider_identity': 8,
    'microversions': 9,
    'routes': 10,
    'dispatch': 11, 'middleware': 11, 'doctor': 11,
    'cmd.openapi': 11, 'cmd.demo_cloud': 11, 'metrics.exporter': 11,
    'deploy': 12,
    'wsgi': 13, 'direct': 13,
    'cmd': 14,
}  # fmt: skip

# Could be taken out of the building: it uses the standard library alone.
STANDALONE = 'search'

HOMES = {
    'alembic': {'db'},
    'jsonschema': {'http.validation'},
    'keystoneauth1': {'direct', 'doctor.identity'},
    'keystonemiddleware': {'deploy', 'middleware.identity', 'doctor.identity'},
    'oslo_config': {'conf', 'cmd'},
    'oslo_db': {'db'},
    'oslo_middleware': {'deploy', 'middleware', 'conf.libraries'},
    'oslo_policy': {'policies', 'conf.libraries'},
    'oslo_versionedobjects': {'objects'},
    'prometheus_client': {'metrics'},
    'requests': {'direct'},
    'routes': {'dispatch'},
    'sqlalchemy': {'db', 'feed', 'insight.*.statements'},
    'waitress': {'cmd.web_server'},
    'webob': {'http.request', 'http.error_response', 'dispatch', 'middleware', 'direct'},
    'yaml': {'metrics.named_files', 'cmd.package_data'},
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
    if '*' in place:
        package, _, role = place.partition('.*.')
        return is_in(name, package) and role in name.split('.')
    return name == place or name.startswith(f'{place}.')


def place_of(name: str) -> str:
    """The entry of the table that a module, or a name of one, belongs to."""
    return max((place for place in ROWS if is_in(name, place)), key=len)


def complaint(importer: str, imported: str) -> str | None:
    """Why one module must not import a name; None when it may."""
    first, _, rest = imported.partition('.')
    if first == 'placement':
        return own_complaint(importer, rest) if rest else None
    if is_in(importer, STANDALONE) and first not in sys.stdlib_module_names:
        return f'{importer} uses {first}, and {STANDALONE} stands alone'
    homes = HOMES.get(first)
    if homes is None or any(is_in(importer, home) for home in homes):
        return None
    return f'{importer} uses {first}, which is at home in {sorted(homes)}'


def own_complaint(importer: str, imported: str) -> str | None:
    """The same, for a module of the service; both without ``placement.``"""
    top = importer.partition('.')[0]
    if is_in(imported, top) and top != 'handlers':
        return None
    if top == STANDALONE:
        return f'{importer} imports {imported}, and {top} stands alone'
    row, below = ROWS[place_of(importer)], ROWS[place_of(imported)]
    if below < row or is_in(imported, importer):
        return None
    return f'{importer} (row {row}) imports {imported} (row {below})'


@pytest.mark.parametrize('name', modules())
def test_a_module_imports_only_what_lies_below_it(name: str) -> None:
    path = modules()[name]
    found = imports(path.read_text(), name, is_package=path.name == '__init__.py')

    assert [words for other in sorted(found) if (words := complaint(name, other))] == []


def test_every_module_has_a_row() -> None:
    assert {name.partition('.')[0] for name in modules()} <= ROWS.keys()


@pytest.mark.parametrize('package', sorted({name.partition('.')[0] for name in modules()}))
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
