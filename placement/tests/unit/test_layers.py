# SPDX-License-Identifier: Apache-2.0
"""The allowed imports between packages, and the packages that may import each library.

The table is in the architecture page. Imports for type annotations count as well: a reader follows
them.
"""

import ast
import graphlib
import pathlib
import sys
from collections.abc import Iterator

import pytest

REPOSITORY = pathlib.Path(__file__).parents[3]

# A row may import the rows above it in this table, which are below it in the building, and its own
# row without cycles. The package placement_insight is called insight here.
ROWS = {
    'errors': 0, 'conf': 0, 'metrics': 0,
    'db': 1, 'search': 1, 'schemas': 1,
    'feed': 2, 'context': 2, 'objects': 2,
    'http': 3,
    'handlers': 4, 'middleware': 4, 'extension': 4,
    'microversions': 5, 'routes': 5, 'policies': 5,
    'dispatch': 6, 'doctor': 6,
    'deploy': 7, 'wsgi': 7, 'direct': 7, 'cmd': 7,
    'insight': 8,
}  # fmt: skip

# Could be taken out of the building: they use the standard library, and each what it names.
STANDALONE = {'search': ('search',), 'insight.search': ('search', 'insight.search')}

HOMES = {
    'alembic': {'db'},
    'jsonschema': {'http.validation'},
    'keystoneauth1': {'direct', 'doctor.identity'},
    'keystonemiddleware': {'deploy', 'middleware.identity', 'doctor.identity'},
    'oslo_config': {'conf', 'cmd', 'insight.options'},
    'oslo_db': {'db'},
    'oslo_middleware': {'deploy', 'middleware', 'conf.libraries'},
    'oslo_policy': {'policies', 'conf.libraries', 'extension'},
    'oslo_versionedobjects': {'objects'},
    'prometheus_client': {
        'metrics',
        'feed.gauges',
        'feed.cloud_gauges',
        'insight.gauges',
    },
    'requests': {'direct'},
    'routes': {'dispatch'},
    'sqlalchemy': {'db', 'feed', 'insight.*.statements', 'doctor.connection'},
    'waitress': {'cmd.web_server'},
    'webob': {'http.request', 'http.error_response', 'dispatch', 'middleware', 'direct'},
    'yaml': {
        'metrics.named_files',
        'cmd.openapi',
        'insight.fragments',
        'insight.demo_cloud',
    },
}


def modules() -> dict[str, pathlib.Path]:
    """Every module of the service, by its name without ``placement.``; tests are none."""
    found = {}
    for package in ('placement', 'placement_insight'):
        for path in sorted((REPOSITORY / package).rglob('*.py')):
            parts = path.relative_to(REPOSITORY).with_suffix('').parts
            if parts[1] == 'tests' or parts == ('placement', '__init__'):
                continue
            found[short('.'.join(part for part in parts if part != '__init__'))] = path
    return found


def short(name: str) -> str:
    """The full name of a module of the service without ``placement.``; insight is a prefix."""
    return name.removeprefix('placement.').replace('placement_insight', 'insight', 1)


def imports(path: pathlib.Path, with_types: bool = False) -> set[str]:
    """Full names of what a module imports when it runs, members of modules included.

    `with_types` adds what it imports for the sake of types.
    """
    tree = ast.parse(path.read_text())
    package = path.relative_to(REPOSITORY).parent.parts
    found: set[str] = set()
    for node in ast.walk(tree) if with_types else running(tree):
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


def is_own(name: str) -> bool:
    return name.startswith(('placement.', 'placement_insight.'))


def own_imports(path: pathlib.Path) -> set[str]:
    """Full names of what a module imports of the service, for the sake of types included."""
    return set(filter(is_own, imports(path, with_types=True)))


def is_in(name: str, place: str) -> bool:
    if '*' in place:
        package, _, role = place.partition('.*.')
        return is_in(name, package) and role in name.split('.')
    return name == place or name.startswith(f'{place}.')


def complaint(importer: str, imported: str) -> str | None:
    """The reason why a module must not import a name; None if it may."""
    first = imported.partition('.')[0]
    if is_own(imported):
        return own_complaint(importer, short(imported))
    is_alone = any(is_in(importer, place) for place in STANDALONE)
    if is_alone and first not in sys.stdlib_module_names:
        return f'{importer} uses {first}, and stands alone'
    homes = HOMES.get(first)
    if homes is None or any(is_in(importer, home) for home in homes):
        return None
    return f'{importer} uses {first}, which is at home in {sorted(homes)}'


def own_complaint(importer: str, imported: str) -> str | None:
    """The same, for a module of the service; both without ``placement.``"""
    for place, allowed in STANDALONE.items():
        if is_in(importer, place) and not any(is_in(imported, other) for other in allowed):
            return f'{importer} imports {imported}, and stands alone'
    top, other = importer.partition('.')[0], imported.partition('.')[0]
    if top == 'handlers' and is_in(imported, top):
        return f'{importer} imports {imported}, another handler'
    if ROWS[other] <= ROWS[top]:
        return None
    return f'{importer} (row {ROWS[top]}) imports {imported} (row {ROWS[other]})'


@pytest.mark.parametrize('name', modules())
def test_a_module_imports_only_what_lies_below_it(name: str) -> None:
    path = modules()[name]
    found = imports(path) | own_imports(path)

    assert [words for other in sorted(found) if (words := complaint(name, other))] == []


def test_every_module_has_a_row() -> None:
    assert {name.partition('.')[0] for name in modules()} == ROWS.keys()


def test_modules_import_each_other_without_cycles() -> None:
    known = modules()
    packages = {name for name, path in known.items() if path.name == '__init__.py'}
    graph = {name: set[str]() for name in known}
    for name, path in known.items():
        for found in map(short, own_imports(path)):
            # A name in a module comes from that module; a package is not its own part.
            place = found if found in known else found.rpartition('.')[0]
            if place in known and place != name and not (place in packages and is_in(name, place)):
                graph[name].add(place)

    graphlib.TopologicalSorter(graph).prepare()
