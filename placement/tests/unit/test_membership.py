# SPDX-License-Identifier: Apache-2.0
"""A parameter that is asked `in` is a set or a mapping: a list would be searched member by member.

One list asked once for each row makes work quadratic over what a client sends.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import placement

REPOSITORY = Path(placement.__file__).parents[1]
MODULES = sorted(
    path
    for package in ('placement', 'placement_insight')
    for path in (REPOSITORY / package).rglob('*.py')
    if 'tests' not in path.relative_to(REPOSITORY).parts
)

#: Types whose values compare one member after the other.
SEARCHED = {'Collection', 'Container', 'Iterable', 'Sequence', 'list', 'tuple'}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def is_searched(annotation: ast.expr | None) -> bool:
    """True if a value of the type, or of one type of a union, is searched from its start."""
    match annotation:
        case ast.BinOp(left=left, right=right):
            return is_searched(left) or is_searched(right)
        case ast.Subscript(value=value):
            return is_searched(value)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in SEARCHED
        case ast.Constant(value=str() as text):
            return is_searched(ast.parse(text, mode='eval').body)
    return False


def searches(source: str) -> Iterator[str]:
    """The comparisons of functions that look for a value in such a parameter."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, Function)]
    for function in functions:
        arguments = function.args
        parameters = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        names = {one.arg for one in parameters if is_searched(one.annotation)}
        for node in ast.walk(function):
            if isinstance(node, ast.Compare) and any(
                isinstance(operator, ast.In | ast.NotIn)
                and isinstance(asked, ast.Name)
                and asked.id in names
                for operator, asked in zip(node.ops, node.comparators, strict=True)
            ):
                yield f'{function.name}: {ast.unparse(node)}'


@pytest.mark.parametrize('module', MODULES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_no_list_is_asked_in(module: Path) -> None:
    assert list(searches(module.read_text())) == []


@pytest.mark.parametrize(
    ('annotation', 'is_found'),
    [
        ('Collection[str]', True),
        ('list[str] | None', True),
        ("'abc.Sequence[str]'", True),
        ('Set[str]', False),
        ('Mapping[str, list[int]]', False),
        ('str', False),
    ],
)
def test_types_that_are_searched(annotation: str, is_found: bool) -> None:
    source = f'def f(some: {annotation}): return [n for n in range(9) if n not in some]'

    assert bool(list(searches(source))) == is_found
