# SPDX-License-Identifier: Apache-2.0
"""The file of an export is read as it was written, whatever names are in it."""

import io
from collections.abc import Iterator, Sequence
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies

from osc_placement_insight import exported

TOKEN = 'AbC-_9'
NOW = '2026-11-22T15:00:00+00:00'

# Among them those that YAML would read as something else.
NOT_TEXT = ['1', '1e5', '0x1f', '1:30', 'yes', 'null', '~', '=', '<<', '- a', '2026-11-22']
texts = strategies.text(
    strategies.characters(exclude_categories=['Cs']), max_size=12
) | strategies.sampled_from([*NOT_TEXT, '\x85', '\ufeff'])
numbers = strategies.integers(0, 2**31 - 1) | strategies.floats(0, 1e38)
values = strategies.recursive(
    strategies.none() | numbers | texts,
    lambda inner: strategies.lists(inner) | strategies.dictionaries(texts, inner),
    max_leaves=12,
)
elements = strategies.dictionaries(texts, values, min_size=1, max_size=4)
pages = strategies.lists(strategies.lists(elements, max_size=3), max_size=3)
queries = strategies.dictionaries(texts, strategies.lists(texts, max_size=2), max_size=2)
Pages = list[list[dict[str, Any]]]


@hypothesis.given(queries, pages, strategies.none() | pages)
def test_what_is_read_is_what_was_written(
    query: dict[str, list[str]], providers: Pages, consumers: Pages | None
) -> None:
    stream = io.StringIO()
    exported.write_header(stream, NOW, query, TOKEN)
    written: list[Any] = []
    for name, list_ in ((exported.PROVIDERS, providers), (exported.CONSUMERS, consumers)):
        elements = None if list_ is None else [element for page in list_ for element in page]
        written.append(elements)
        if list_ is not None and elements is not None:
            assert exported.write_list(stream, name, list_) == len(elements)
    stream.seek(0)

    assert exported.read(stream) == (NOW, query, TOKEN, *written)
    assert stream.getvalue().isascii()


def test_each_page_is_written_before_the_next_is_asked_for() -> None:
    stream = io.StringIO()

    def pages() -> Iterator[Sequence[dict[str, Any]]]:
        for number in range(5):
            assert stream.getvalue().count('uuid: ') == number
            yield [{'uuid': str(number)}]

    assert exported.write_list(stream, exported.PROVIDERS, pages()) == 5


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('', 'no export'),
        ('- a', 'no export'),
        ('format: something', 'no export'),
        ('format: placement-export\nversion: 2', 'version 2'),
        ('format: placement-export\nversion: 1', "no 'written_at'"),
        ('format: [', 'no YAML'),
        ('format: !!python/object:os.system {}', 'no YAML'),
    ],
)
def test_file_that_is_no_export_is_refused(text: str, words: str) -> None:
    with pytest.raises(exported.UnknownFormat, match=words):
        exported.read(io.StringIO(text))
