# SPDX-License-Identifier: Apache-2.0
"""The result of a search as JSON (specification: allocation_candidates, "Response").

A thousand candidates of alike hosts differ in little but names. So the text of each layout is
rendered once in the shape of the requested version, and the names of each candidate are inserted.
The texts of provider summaries are cached. Both are faster than serialising each value.
"""

import functools
import itertools
import json
import re
import weakref
from collections.abc import Iterator, MutableMapping, Sequence, Set
from typing import Any

from placement.http.microversion import Shape
from placement.http.reply import JSONPieces
from placement.objects.trait import listing_order
from placement.search.candidate import Candidate, Layout
from placement.search.candidates import Result
from placement.search.model.provider import Provider

# Number of candidates or summaries encoded at a time, 200 KB of text, to limit memory.
TEXTS_PER_PIECE = 256
FEW_PIECES = 4

REQUESTS = 'allocation_requests'
SUMMARIES = 'provider_summaries'

# Placeholder of a name in the values of a layout, by its number in a candidate. No resource class
# or suffix has these characters. The pattern matches it in JSON.
_MARK = '\ue000{}\ue001'
_MARKED = re.compile(r'\\ue000(\d+)\\ue001')

# Number of shapes whose summaries are cached: clients use few versions at a time.
MAX_REMEMBERED_SHAPES = 2

# The text before the first name, then (number of the name in a candidate, text after it) for each.
Template = tuple[str, list[tuple[int, str]]]


def as_pieces(result: Result, shape: Shape, classes: Set[str] | None = None) -> JSONPieces:
    """Candidates and summaries; with `classes`, summaries of these classes only."""
    templates: dict[Layout, Template] = {}
    texts = (_candidate_text(candidate, templates, shape) for candidate in result.candidates)
    requests = _joined(texts, f'{{"{REQUESTS}": [')
    summaries = _joined(_summary_texts(result, shape, classes), f'], "{SUMMARIES}": {{')
    pieces = [*requests, *summaries, b'}}']
    # Few pieces become one: an answer that fits a buffer should be sent at once.
    return JSONPieces([b''.join(pieces)] if len(pieces) <= FEW_PIECES else pieces)


def _joined(texts: Iterator[str], opening: str) -> Iterator[bytes]:
    """The opening and the texts with commas between them, in pieces."""
    separator = opening
    while some := list(itertools.islice(texts, TEXTS_PER_PIECE)):
        yield f'{separator}{", ".join(some)}'.encode()
        separator = ', '
    if separator is opening:
        yield opening.encode()


def _candidate_text(candidate: Candidate, templates: dict[Layout, Template], shape: Shape) -> str:
    layout = candidate.layout
    template = templates.get(layout)
    if template is None:
        template = templates[layout] = _template(layout, shape)
    text, parts = template
    for number, following in parts:
        text += candidate.providers[number].uuid + following
    return text


def _template(layout: Layout, shape: Shape) -> Template:
    """The text of all candidates of one layout."""
    request = {
        'allocations': {
            _MARK.format(number): {'resources': dict(layout.amounts[number])}
            for number in layout.allocated
        },
        'mappings': {
            suffix: [_MARK.format(number) for number in serving]
            for suffix, serving in layout.mappings
        },
    }
    (shown,) = shape.of({REQUESTS: [request], SUMMARIES: {}})[REQUESTS]
    opening, *rest = _MARKED.split(json.dumps(shown))
    return opening, list(zip(map(int, rest[::2]), rest[1::2], strict=True))


def _summary_texts(result: Result, shape: Shape, classes: Set[str] | None) -> Iterator[str]:
    """The member of each provider in the object of summaries."""
    remembered = _remembered(shape) if classes is None else {}
    for start in range(0, len(result.providers), TEXTS_PER_PIECE):
        some = result.providers[start : start + TEXTS_PER_PIECE]
        # One lookup each, because lookups in a weak dictionary are slow.
        texts = [text for text in map(remembered.get, some) if text is not None]
        if len(texts) < len(some):
            missing = [provider for provider in some if provider not in remembered]
            written = _written_summaries(missing, shape, classes)
            remembered.update(zip(missing, written, strict=True))
            texts = [remembered[provider] for provider in some]
        yield from texts


@functools.lru_cache(maxsize=MAX_REMEMBERED_SHAPES)
def _remembered(shape: Shape) -> MutableMapping[Provider, str]:
    """Cache of the summaries of providers in a shape.

    A change of a provider creates a new record, so an entry is valid as long as its record lives.
    """
    return weakref.WeakKeyDictionary()


def _written_summaries(
    providers: Sequence[Provider], shape: Shape, classes: Set[str] | None
) -> Iterator[str]:
    summaries = {provider.uuid: _summary(provider, classes) for provider in providers}
    shown = shape.of({REQUESTS: [], SUMMARIES: summaries})[SUMMARIES]
    return (f'{json.dumps(uuid)}: {json.dumps(summary)}' for uuid, summary in shown.items())


def _summary(provider: Provider, classes: Set[str] | None) -> dict[str, Any]:
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
