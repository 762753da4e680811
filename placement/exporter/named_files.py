# SPDX-License-Identifier: Apache-2.0
"""The files in which operators name what the metrics are to show (specification: metrics)."""

from __future__ import annotations

from collections.abc import Mapping

import yaml

from placement import errors, history
from placement.http import microversion
from placement.http.insight_query import parse_named_queries
from placement.schemas.insight import MAX_REQUESTS
from placement.search.model.request import CandidateRequest


class UnusableFile(Exception):
    """Why a file cannot be used, in one line."""


def read_requests(path: str | None) -> Mapping[str, CandidateRequest]:
    """The requests of a file by their names; none without a file.

    Raises `UnusableFile`.
    """
    texts = _read_names(path)
    if len(texts) > MAX_REQUESTS:
        raise UnusableFile(f'{path} has {len(texts)} requests, more than {MAX_REQUESTS}')
    try:
        newest = microversion.negotiated(history.APIS, None, otherwise=history.NEWEST)
        return parse_named_queries(newest, texts)
    except errors.BadRequest as error:
        raise UnusableFile(f'{path}: {" ".join(str(error).split())}') from error


def read_aggregate_names(path: str | None) -> Mapping[str, str]:
    """The names of aggregates by uuid; none without a file. Raises `UnusableFile`."""
    return {uuid.lower(): name for uuid, name in _read_names(path).items()}


def _read_names(path: str | None) -> Mapping[str, str]:
    """A mapping from text to text."""
    if not path:
        return {}
    try:
        with open(path, encoding='utf-8') as file:
            content = yaml.safe_load(file)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UnusableFile(f'{path}: {" ".join(str(error).split())}') from error
    content = {} if content is None else content
    if not isinstance(content, dict) or not all(
        isinstance(part, str) for pair in content.items() for part in pair
    ):
        raise UnusableFile(f'{path} is not a mapping from text to text')
    return content
