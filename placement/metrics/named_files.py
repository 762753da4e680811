# SPDX-License-Identifier: Apache-2.0
"""Files in which operators give names to requests and aggregates."""

import functools
import os
from collections.abc import Mapping

import yaml


class UnusableFile(Exception):
    """The reason why a file cannot be used, in one line."""


def read_aggregate_names(path: str | None) -> Mapping[str, str]:
    """The names of aggregates by uuid; none without a file.

    :raises UnusableFile: the file cannot be used
    """
    return {uuid.lower(): name for uuid, name in read_names(path).items()}


def read_names(path: str | None) -> Mapping[str, str]:
    """A mapping from text to text; an empty one without a file.

    :raises UnusableFile: the file cannot be used
    """
    if not path:
        return {}
    try:
        stat = os.stat(path)
        return dict(_parsed(path, stat.st_ino, stat.st_mtime_ns, stat.st_size))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UnusableFile(f'{path}: {" ".join(str(error).split())}') from error


# Cached because parsing some hundred names takes longer than a scrape. A process has two files.
@functools.lru_cache(maxsize=4)
def _parsed(path: str, *_version: int) -> Mapping[str, str]:
    """The content of a file in one version.

    :raises OSError: the file cannot be read
    :raises ValueError: it is not UTF-8
    :raises yaml.YAMLError: it is not YAML
    :raises UnusableFile: it is not a mapping from text to text
    """
    with open(path, encoding='utf-8') as file:
        content = yaml.safe_load(file)
    content = {} if content is None else content
    if not isinstance(content, dict) or not all(
        isinstance(part, str) for pair in content.items() for part in pair
    ):
        raise UnusableFile(f'{path} is not a mapping from text to text')
    return content
