# SPDX-License-Identifier: Apache-2.0
"""The one route that is not served yet, and what is excused because of it."""

import functools

from .fixtures import applications, client

#: Requests to this path are excused while the service answers them with 404; no other is.
NOT_SERVED_YET: str | None = None


def is_excused(path: str, status: int) -> bool:
    """Whether a difference in the answer to a request is due to the missing route."""
    return NOT_SERVED_YET is not None and path.split('?')[0] == NOT_SERVED_YET and status == 404


def is_excused_story(name: str) -> bool:
    """Whether a story is about the missing route."""
    if NOT_SERVED_YET is None:
        return False
    return name.startswith(NOT_SERVED_YET.strip('/').replace('_', '-')) and _is_missing()


@functools.cache
def _is_missing() -> bool:
    assert NOT_SERVED_YET is not None
    service = applications.Service()
    try:
        path = f'{NOT_SERVED_YET}?resources=VCPU:1'
        return client.Client(service.application).send('GET', path, version='1.39').status == 404
    finally:
        service.stop()
