# SPDX-License-Identifier: Apache-2.0
"""The file that `openstack placement export` writes, and that `read` reads back.

One YAML document in ASCII, a mapping of

* `format` and `version`, which are always `FORMAT` and `VERSION`. Later releases may add members
  without another version; a reader passes over those that it does not know;
* `written_at`, UTC; `query`, what restricts the export, empty for the whole cloud; `token`, for
  `GET /insight/changes`, which tells what changed since the first page of providers;
* `providers`, in the order of their uuids, with the members that `GET /insight/providers` has, and
  `consumers`, with those of `GET /insight/consumers`, in the order of their uuids where the whole
  cloud is exported. Without `consumers` they were not wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TextIO

import yaml

FORMAT = 'placement-export'
VERSION = 1

PROVIDERS, CONSUMERS = 'providers', 'consumers'

# libyaml is ten times as fast, if PyYAML was built with it.
Dumper: Any = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)
Loader: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)

Element = Mapping[str, Any]


class UnknownFormat(Exception):
    """A file is not an export, or has another version."""


class Exported(NamedTuple):
    """An export as values; `consumers` is None where they were not wanted."""

    written_at: str
    query: Mapping[str, Sequence[str]]
    token: str
    providers: Sequence[Element]
    consumers: Sequence[Element] | None


def write_header(
    stream: TextIO, written_at: str, query: Mapping[str, Sequence[str]], token: str
) -> None:
    """Write what comes before the lists."""
    header = {
        'format': FORMAT,
        'version': VERSION,
        'written_at': written_at,
        'query': {name: list(values) for name, values in query.items()},
        'token': token,
    }
    stream.write(_as_yaml(header))


def write_list(stream: TextIO, name: str, pages: Iterable[Sequence[Element]]) -> int:
    """Write a list page by page, each before the next is asked for; return its length."""
    length = 0
    for page in pages:
        if page and not length:
            stream.write(f'{name}:\n')
        if page:
            stream.write(_as_yaml(page))
        length += len(page)
    if not length:
        stream.write(f'{name}: []\n')
    return length


def _as_yaml(value: Any) -> str:
    # In ASCII, and in the order of the answer.
    text: str = yaml.dump(value, Dumper=Dumper, sort_keys=False, default_flow_style=False)
    return text


def read(stream: TextIO) -> Exported:
    """The export in a file.

    :raises UnknownFormat: the file is no export, or one of a version that is not known here
    """
    try:
        found = yaml.load(stream, Loader=Loader)
    except yaml.YAMLError as error:
        raise UnknownFormat(f'This is no YAML: {error}') from error
    if not isinstance(found, dict) or found.get('format') != FORMAT:
        raise UnknownFormat(f'This is no export: it has no "format: {FORMAT}".')
    if found.get('version') != VERSION:
        raise UnknownFormat(
            f'This is an export of version {found.get("version")}, and not of {VERSION}.'
        )
    try:
        return Exported(
            found['written_at'],
            found['query'],
            found['token'],
            found[PROVIDERS],
            found.get(CONSUMERS),
        )
    except KeyError as error:
        raise UnknownFormat(f'This export is not complete: it has no {error}.') from error
