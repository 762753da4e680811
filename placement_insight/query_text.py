# SPDX-License-Identifier: Apache-2.0
"""Queries of candidate searches in request bodies and in files."""

import urllib.parse
from collections.abc import Collection, Mapping

from placement import errors, microversions
from placement.http import candidate_query, querystring
from placement.http.microversion import Api
from placement.http.request import checked_query
from placement.metrics.named_files import UnusableFile, read_names
from placement.search.model.request import CandidateRequest

# Maximum number of requests of one question: each may take a tenth of a second.
MAX_REQUESTS = 100


def parse_text(api: Api, text: str) -> CandidateRequest:
    """Parse a query of `GET /allocation_candidates` that stands in a body.

    :raises errors.BadRequest: the query is malformed
    """
    try:
        parameters = urllib.parse.parse_qsl(text, keep_blank_values=True, errors='strict')
    except ValueError as error:
        raise errors.InvalidQuery(reason=error) from error
    return candidate_query.parse(api, checked_query(api, 'allocation_candidates.list', parameters))


def parse_named(api: Api, texts: Mapping[str, str]) -> dict[str, CandidateRequest]:
    """Parse queries by name.

    :raises errors.BadRequest: a query is malformed; the message names the request
    """
    requests = {}
    for name, text in texts.items():
        with errors.reported_as(errors.BadRequest, prefix=f'Request {name}: '):
            requests[name] = parse_text(api, text)
    return requests


def read_requests(path: str | None) -> Mapping[str, CandidateRequest]:
    """Return the requests that operators name in a file, by name; none without a file.

    :raises UnusableFile: the file cannot be read, or is malformed
    """
    texts = read_names(path)
    if len(texts) > MAX_REQUESTS:
        raise UnusableFile(f'{path} has {len(texts)} requests, more than {MAX_REQUESTS}')
    try:
        return parse_named(microversions.newest(), texts)
    except errors.BadRequest as error:
        raise UnusableFile(f'{path}: {" ".join(str(error).split())}') from error


def check_lengths(texts: Collection[str]) -> None:
    """Check that queries together are no longer than one may be, since no budget bounds parsing.

    :raises errors.InvalidQuery: they are longer
    """
    length = sum(map(len, texts))
    if length > querystring.MAX_LENGTH:
        raise errors.InvalidQuery(
            reason=f'the queries have {length} characters, more than {querystring.MAX_LENGTH}'
        )
