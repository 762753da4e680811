# SPDX-License-Identifier: Apache-2.0
"""The result of a search as JSON (specification: allocation_candidates, "Response").

There are two ways to say the same: as values, which older versions are made of, and as a finished
text for clients that want the newest shape. A thousand candidates of alike hosts differ in little
but names, so the text of a candidate is that of its layout with names put in.

An answer of 1,000 hosts takes 2.1 ms with the search. It takes 6.3 ms more without the remembered
summaries, and 3.6 ms more without the texts of layouts.
"""

import itertools
import json
import weakref
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from placement.http.reply import JSONPieces
from placement.objects.trait import listing_order
from placement.search.candidate import Candidate, Layout
from placement.search.candidates import Result
from placement.search.model.provider import Provider

# How many candidates or summaries are made bytes at a time: 200 KB of text, which is let go before
# the next piece is made.
TEXTS_PER_PIECE = 256
FEW_PIECES = 4

# Stands for a name in the text of a template: a character that no JSON text has.
NAME = '\0'

# The summary of a provider as text, for as long as its record lives: a change makes a new record.
# To write the summaries of 1,000 hosts anew takes longer than to search for them and to answer.
_SUMMARIES: weakref.WeakKeyDictionary[Provider, str] = weakref.WeakKeyDictionary()

# A text as far as the first name, and whose names follow, by their numbers in a candidate, each
# with the text after it.
Template = tuple[str, list[tuple[int, str]]]


def as_values(result: Result, classes: Collection[str] | None = None) -> dict[str, Any]:
    """Candidates and summaries; of the classes of a provider only some, where they are given."""
    return {
        'allocation_requests': [_candidate(candidate) for candidate in result.candidates],
        'provider_summaries': {
            provider.uuid: _summary(provider, classes) for provider in result.providers
        },
    }


def as_pieces(result: Result) -> JSONPieces:
    """The same as `as_values` with all classes, as JSON."""
    templates: dict[Layout, Template] = {}
    texts = (_candidate_text(candidate, templates) for candidate in result.candidates)
    requests = _joined(texts, '{"allocation_requests": [')
    summaries = _joined(map(_summary_text, result.providers), '], "provider_summaries": {')
    pieces = [*requests, *summaries, b'}}']
    # One piece where there are few: an answer that fits a buffer should be sent at once.
    return JSONPieces([b''.join(pieces)] if len(pieces) <= FEW_PIECES else pieces)


def _joined(texts: Iterator[str], opening: str) -> Iterator[bytes]:
    """The texts with commas between them, after an opening, some of them at a time."""
    separator = opening
    while some := list(itertools.islice(texts, TEXTS_PER_PIECE)):
        yield f'{separator}{", ".join(some)}'.encode()
        separator = ', '
    if separator is opening:
        yield opening.encode()


def _candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        'allocations': {
            provider.uuid: {'resources': dict(amounts)}
            for provider, amounts in candidate.allocations.items()
        },
        'mappings': {
            suffix: [provider.uuid for provider in providers]
            for suffix, providers in candidate.mappings.items()
        },
    }


def _summary(provider: Provider, classes: Collection[str] | None) -> dict[str, Any]:
    return {
        'resources': {
            name: {'capacity': capacity.reported_capacity, 'used': used}
            for name, capacity, used in provider.inventories
            if classes is None or name in classes
        },
        'traits': sorted(provider.traits, key=listing_order),
        'parent_provider_uuid': provider.parent_uuid,
        'root_provider_uuid': provider.root_uuid,
    }


def _candidate_text(candidate: Candidate, templates: dict[Layout, Template]) -> str:
    layout = candidate.layout
    template = templates.get(layout)
    if template is None:
        template = templates[layout] = _template(layout)
    text, parts = template
    for number, following in parts:
        text += candidate.providers[number].uuid + following
    return text


def _template(layout: Layout) -> Template:
    """The text of all candidates of one layout."""
    numbers: list[int] = []

    def names(of: Sequence[int]) -> list[str]:
        numbers.extend(of)
        return [f'"{NAME}"'] * len(of)

    amounts = [
        f'{name}: {{"resources": {json.dumps(dict(layout.amounts[number]))}}}'
        for name, number in zip(names(layout.allocated), layout.allocated, strict=True)
    ]
    mappings = [
        f'{json.dumps(suffix)}: [{", ".join(names(serving))}]'
        for suffix, serving in layout.mappings
    ]
    text = f'{{"allocations": {{{", ".join(amounts)}}}, "mappings": {{{", ".join(mappings)}}}}}'
    opening, *rest = text.split(NAME)
    return opening, list(zip(numbers, rest, strict=True))


def _summary_text(provider: Provider) -> str:
    text = _SUMMARIES.get(provider)
    if text is None:
        summary = json.dumps(_summary(provider, None))
        text = _SUMMARIES[provider] = f'{json.dumps(provider.uuid)}: {summary}'
    return text
