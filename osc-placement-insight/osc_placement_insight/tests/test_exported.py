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

texts = strategies.text(
    strategies.characters(exclude_categories=['Cs']), max_size=12
) | strategies.sampled_from(
    [
        '1',
        '1e5',
        '0x1f',
        '1:30',
        'yes',
        'null',
        '~',
        '=',
        '<<',
        '- a',
        '2026-11-22',
        '\x85',
        '\ufeff',
    ]
)
names = texts.filter(bool)
uuids = strategies.uuids().map(str)
amounts = strategies.dictionaries(names, strategies.integers(0, 2**31 - 1), max_size=3)
inventories = strategies.fixed_dictionaries(
    {
        'total': strategies.integers(1, 2**31 - 1),
        'reserved': strategies.integers(0, 10),
        'allocation_ratio': strategies.floats(0, 1e38),
    }
)
providers = strategies.fixed_dictionaries(
    {
        'uuid': uuids,
        'name': names,
        'generation': strategies.integers(0, 2**31 - 1),
        'parent_provider_uuid': strategies.none() | uuids,
        'root_provider_uuid': uuids,
        'inventories': strategies.dictionaries(names, inventories, max_size=3),
        'usages': amounts,
        'traits': strategies.lists(names, max_size=3),
        'aggregates': strategies.lists(uuids, max_size=3),
    }
)
consumers = strategies.fixed_dictionaries(
    {
        'uuid': uuids,
        'created_at': strategies.none() | strategies.datetimes().map(lambda at: f'{at}Z'),
        'project_id': names,
        'user_id': names,
        'consumer_generation': strategies.integers(0, 2**31 - 1),
        'allocations': strategies.dictionaries(
            uuids, strategies.fixed_dictionaries({'resources': amounts}), max_size=3
        ),
    }
)


def pages_of(
    elements: strategies.SearchStrategy[dict[str, Any]],
) -> strategies.SearchStrategy[list[list[dict[str, Any]]]]:
    return strategies.lists(strategies.lists(elements, max_size=3), max_size=3)


queries = strategies.dictionaries(names, strategies.lists(texts, max_size=2), max_size=2)


@hypothesis.given(queries, pages_of(providers), strategies.none() | pages_of(consumers))
def test_what_is_read_is_what_was_written(
    query: dict[str, list[str]],
    pages: list[list[dict[str, Any]]],
    pages_of_consumers: list[list[dict[str, Any]]] | None,
) -> None:
    stream = io.StringIO()
    exported.write_header(stream, NOW, query, TOKEN)
    written = [one for page in pages for one in page]
    assert exported.write_list(stream, exported.PROVIDERS, pages) == len(written)
    written_consumers = None
    if pages_of_consumers is not None:
        written_consumers = [one for page in pages_of_consumers for one in page]
        exported.write_list(stream, exported.CONSUMERS, pages_of_consumers)
    stream.seek(0)

    found = exported.read(stream)

    assert found == (NOW, query, TOKEN, written, written_consumers)
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
