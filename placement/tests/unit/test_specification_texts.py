# SPDX-License-Identifier: Apache-2.0
"""The specification has the text of every error, whichever module gives it."""

import ast
import inspect
import pathlib
import re
import string
from collections.abc import Iterator

import pytest

from placement import errors
from placement.tests.unit import citations
from placement.tests.unit.specification import whole_text

WORDS_OF_ERRORS = ('prefix', 'suffix', 'reason')

KINDS = [
    kind
    for _name, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, errors.PlacementError)
]


@pytest.mark.parametrize('kind', KINDS, ids=lambda kind: kind.__name__)
def test_the_text_of_an_error_is_specified(kind: type[errors.PlacementError]) -> None:
    """What a message always says; the blanks at its ends do not count."""
    parts = [literal.strip() for literal, *_ in string.Formatter().parse(kind.message)]
    # Punctuation around a value is part of most sentences.
    words = [' '.join(part.split()) for part in parts if re.search(r'\w', part)]
    assert [part for part in words if part not in whole_text()] == []


def modules_that_refuse() -> list[pathlib.Path]:
    """The modules that give an error its text where they raise it, or words around it."""
    package = citations.REPOSITORY / 'placement'
    found = [package / 'dispatch.py']
    for place in ('handlers', 'http', 'objects'):
        found.extend((package / place).rglob('*.py'))
    return sorted(found)


def texts_of_errors(source: str) -> Iterator[str]:
    """The constant parts of every text that a module makes an error of, or puts around one."""
    for call in ast.walk(ast.parse(source)):
        if not isinstance(call, ast.Call):
            continue
        given = [word.value for word in call.keywords if word.arg in WORDS_OF_ERRORS]
        if ast.unparse(call.func).startswith(('errors.', '_create_failed', '_update_failed')):
            given += call.args[:1]
        for text in given:
            parts = text.values if isinstance(text, ast.JoinedStr) else [text]
            yield from (str(p.value) for p in parts if isinstance(p, ast.Constant) and p.value)


@pytest.mark.parametrize('path', modules_that_refuse(), ids=lambda path: path.stem)
def test_the_texts_that_a_module_refuses_with_are_specified(path: pathlib.Path) -> None:
    texts = [' '.join(text.split()) for text in texts_of_errors(path.read_text())]
    assert [text for text in texts if re.search(r'\w', text) and text not in whole_text()] == []


def test_texts_of_errors_are_found_in_code() -> None:
    source = """
with errors.reported_as(errors.NotFound, prefix=f'No {name} of {kind}: ', suffix='!'):
    raise errors.BadRequest('Bad.')
print('nothing of errors')
"""
    assert list(texts_of_errors(source)) == ['No ', ' of ', ': ', '!', 'Bad.']
