# SPDX-License-Identifier: Apache-2.0
"""The page about troubleshooting has every line that the service logs as a warning or an error."""

import ast
import pathlib
import re
from collections.abc import Iterator

import pytest

from placement.tests.functional.fixtures import applications

REPOSITORY = applications.repository_path('.').resolve()
PAGE = REPOSITORY / 'doc' / 'source' / 'troubleshooting.rst'
LEVELS = {'warning', 'error', 'critical', 'exception', 'log'}
_PLACEHOLDER = re.compile(r'%[.\d]*[a-z]')
_SHOWN_PLACEHOLDER = re.compile(r'<[\w ]+>')


def modules() -> list[pathlib.Path]:
    found = (REPOSITORY / 'placement').rglob('*.py')
    return sorted(path for path in found if 'tests' not in path.relative_to(REPOSITORY).parts)


def logged_lines(source: str) -> Iterator[str]:
    """The texts that a module passes to its logger, with their placeholders."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == 'LOG'
            and node.func.attr in LEVELS
        ):
            for argument in node.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.value


def pieces(line: str) -> list[str]:
    """What stands between the placeholders of a line, as far as it has words."""
    found = (piece.strip() for piece in _PLACEHOLDER.split(line))
    return [piece for piece in found if re.search(r'\w{3}', piece)]


def missing_from(page: str, line: str) -> list[str]:
    text = ' '.join(_SHOWN_PLACEHOLDER.sub('<>', page).split())
    return [piece for piece in pieces(line) if ' '.join(piece.split()) not in text]


LINES = sorted({line for path in modules() for line in logged_lines(path.read_text())})


@pytest.mark.parametrize('line', [line for line in LINES if pieces(line)])
def test_the_page_has_every_warning(line: str) -> None:
    assert missing_from(PAGE.read_text(), line) == []


def test_many_lines_were_found() -> None:
    assert len(LINES) > 15


def test_a_line_that_the_page_does_not_have_is_missing() -> None:
    source = "LOG.warning('Lost %d of %s hosts.', 1, 2)\nLOG.info('Nothing.')"

    assert list(logged_lines(source)) == ['Lost %d of %s hosts.']
    assert missing_from('``Lost <n> of <n> hosts.``', 'Lost %d of %s hosts.') == []
    assert missing_from('``Found <n> of <n> hosts.``', 'Lost %d of %s hosts.') == ['Lost']
