# SPDX-License-Identifier: Apache-2.0
"""The requests that operators name in the file of `[metrics] requests_file`."""

from collections.abc import Mapping

from placement import errors, microversions
from placement.metrics.named_files import UnusableFile, read_names
from placement.search.model.request import CandidateRequest
from placement_insight.explain.handlers import MAX_REQUESTS, parse_named_queries


def read_requests(path: str | None) -> Mapping[str, CandidateRequest]:
    """Return the requests of a file by name; none without a file.

    :raises UnusableFile: the file cannot be read, or is malformed
    """
    texts = read_names(path)
    if len(texts) > MAX_REQUESTS:
        raise UnusableFile(f'{path} has {len(texts)} requests, more than {MAX_REQUESTS}')
    try:
        return parse_named_queries(microversions.newest(), texts)
    except errors.BadRequest as error:
        raise UnusableFile(f'{path}: {" ".join(str(error).split())}') from error
