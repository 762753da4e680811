# SPDX-License-Identifier: Apache-2.0
"""Queries of candidate searches in request bodies."""

import urllib.parse
from collections.abc import Collection

from placement import errors
from placement.http import candidate_query, querystring
from placement.http.microversion import Api
from placement.http.request import checked_query
from placement.search.model.request import CandidateRequest


def parse_text(api: Api, text: str) -> CandidateRequest:
    """Parse a query of `GET /allocation_candidates` that stands in a body.

    :raises errors.BadRequest: the query is malformed
    """
    try:
        parameters = urllib.parse.parse_qsl(text, keep_blank_values=True, errors='strict')
    except ValueError as error:
        raise errors.InvalidQuery(reason=error) from error
    return candidate_query.parse(api, checked_query(api, 'allocation_candidates.list', parameters))


def check_lengths(texts: Collection[str]) -> None:
    """Check that queries together are no longer than one may be, since no budget bounds parsing.

    :raises errors.InvalidQuery: they are longer
    """
    length = sum(map(len, texts))
    if length > querystring.MAX_LENGTH:
        raise errors.InvalidQuery(
            reason=f'the queries have {length} characters, more than {querystring.MAX_LENGTH}'
        )
