# SPDX-License-Identifier: Apache-2.0
"""Requests to the Placement service, and what to do about each error, in words."""

from __future__ import annotations

import contextlib
import time
import urllib.parse
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import requests
from keystoneauth1 import exceptions as keystone
from osc_lib import exceptions

from osc_placement_insight import refusals

#: The microversion of requests unless the user names one.
NEWEST = '1.39'
#: What osc-placement calls the choice of a version by negotiation, which is its default.
NEGOTIATED = '1'

#: How often the same request is sent while the service answers that it is busy.
ATTEMPTS = 10
#: The longest pause between two of these, in seconds, whatever the service proposes.
LONGEST_PAUSE = 10

#: Statuses of a service that is away for a while, or of a proxy in front of it.
AWAY = (502, 503, 504)

Query = Iterable[tuple[str, str]]


class Unreachable(exceptions.CommandError):
    """The service cannot be reached, or Keystone, which gives a token for it."""


def is_temporary(error: exceptions.CommandError) -> bool:
    """Whether the same request may succeed in a while."""
    if isinstance(error, refusals.Refused):
        return error.status in AWAY
    return isinstance(error, Unreachable)


class Service:
    """The Placement service of the cloud that the user chose.

    Requests have the microversion that the user named, `told`, or the newest. `tell` is called
    with what the command is doing: here with what a request waits for, if it waits.

    Methods that send a request raise `osc_lib.exceptions.CommandError`, whose message says what to
    do: its subclass `refusals.Refused` for an answer of 4xx or 5xx, and `Unreachable` for none.
    """

    def __init__(
        self, client: Any, told: str | None = None, tell: Callable[[str], None] | None = None
    ) -> None:
        self._client = client
        self._told = told
        self._version = told or NEWEST
        self.tell = tell or (lambda doing: None)

    def at(self, version: str | None) -> Service:
        """The service asked at this microversion, unless the user named one."""
        return Service(self._client, self._told or version, self.tell)

    def ask(self, path: str, query: Query = ()) -> Any:
        """The answer to a GET, as values."""
        return self.send('GET', path, query, repeatable=True)

    def pages(self, path: str, query: Query = (), body: Any = None) -> Iterator[Any]:
        """The answers to a GET, page by page; a page is asked for when it is wanted.

        With a body, to questions by POST.
        """
        following: str | None = urllib.parse.urlencode(list(query))
        method = 'GET' if body is None else 'POST'
        while following is not None:
            parameters = urllib.parse.parse_qsl(following, keep_blank_values=True)
            answer = self.send(method, path, parameters, body, repeatable=True)
            yield answer
            following = _query_of_next(answer)

    def ask_about(self, path: str, body: Any) -> Any:
        """The answer to a question by POST, which writes nothing, as values."""
        return self.send('POST', path, body=body, repeatable=True)

    def send(
        self,
        method: str,
        path: str,
        query: Query = (),
        body: Any = None,
        repeatable: bool = False,
    ) -> Any:
        """The answer to a request, as values; None where it has no body.

        One that is `repeatable` is sent again while the service says that it is busy.
        """
        url = f'{path}?{urllib.parse.urlencode(list(query), safe=":,!")}'.rstrip('?')
        for _attempt in range(ATTEMPTS):
            response = self._request(method, url, body)
            if not (repeatable and _is_busy(response)):
                break
            self.tell('waiting for the service, which is busy')
            time.sleep(_pause(response))
        if response.status_code >= 400:
            raise refusals.refused(response, path)
        return _values(response)

    def fetch(self, url: str, body: Any = None) -> requests.Response:
        """The answer to a GET, or to a POST of a body, as it is, whatever its status.

        No redirect is followed.
        """
        return self._request('GET' if body is None else 'POST', url, body, redirect=False)

    def _request(self, method: str, url: str, body: Any, **options: Any) -> requests.Response:
        headers = {
            'OpenStack-API-Version': f'placement {self._version}',
            'Accept': 'application/json',
        }
        content = {} if body is None else {'json': body}
        # Not by the client's own method, which takes a refusal of Keystone for one of Placement,
        # and fails with KeyError.
        with failures_in_words():
            response: requests.Response = self._client.session.request(
                url,
                method,
                headers=headers,
                endpoint_filter=self._client.ks_filter,
                raise_exc=False,
                **content,
                **options,
            )
        return response


@contextlib.contextmanager
def failures_in_words() -> Iterator[None]:
    """Raise what keystoneauth1 raises as an error that says what to do.

    :raises osc_lib.exceptions.CommandError: there is no service, it cannot be reached, or Keystone
        gives no token for it
    """
    try:
        yield
    except keystone.EndpointNotFound as error:
        raise exceptions.CommandError(
            f'There is no Placement service in the catalogue ({error}). List its endpoints with '
            '"openstack endpoint list --service placement", and choose with --os-region-name and '
            '--os-interface.'
        ) from error
    except keystone.ConnectionError as error:
        raise Unreachable(
            f'The Placement service cannot be reached: {error}. Is it running, and is this the '
            f'right endpoint {refusals.ENDPOINT}?'
        ) from error
    except keystone.HttpError as error:
        raise exceptions.CommandError(
            f'The identity service gives no token: {error}. {refusals.ADVICE[401]}'
        ) from error


def _query_of_next(answer: Any) -> str | None:
    """The query of the next page; its path would have the mount point, which the client adds."""
    for link in answer.get('links', ()):
        if link['rel'] == 'next':
            return urllib.parse.urlsplit(link['href']).query
    return None


def _is_busy(response: requests.Response) -> bool:
    return response.status_code == 503 and 'Retry-After' in response.headers


def _pause(response: requests.Response) -> float:
    proposed = response.headers['Retry-After']
    return min(float(proposed) if proposed.isdecimal() else LONGEST_PAUSE, LONGEST_PAUSE)


def _values(response: requests.Response) -> Any:
    if not response.content:
        return None
    try:
        return response.json()
    except requests.JSONDecodeError as error:
        raise exceptions.CommandError(
            f'{response.url} does not answer as the Placement service does. Is this the right '
            f'endpoint {refusals.ENDPOINT}?'
        ) from error
