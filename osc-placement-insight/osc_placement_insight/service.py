# SPDX-License-Identifier: Apache-2.0
"""Requests to the Placement service; each error says what the user can do about it."""

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

#: Default microversion of requests.
NEWEST = '1.39'
#: The default microversion of osc-placement, which stands for negotiation.
NEGOTIATED = '1'

#: Maximum number of attempts at a request while the service is busy.
ATTEMPTS = 10
#: Maximum pause between two attempts in seconds, even if Retry-After is longer.
LONGEST_PAUSE = 10

#: Statuses of a service that is unavailable for a while, or of a proxy in front of it.
AWAY = (502, 503, 504)

Query = Iterable[tuple[str, str]]


class Unreachable(exceptions.CommandError):
    """No connection to the service, or to Keystone, which issues the token for it."""


def is_temporary(error: exceptions.CommandError) -> bool:
    """True if the same request may succeed later."""
    if isinstance(error, refusals.Refused):
        return error.status in AWAY
    return isinstance(error, Unreachable)


class Service:
    """The Placement service of the cloud that the user chose.

    `requested` is the microversion that the user named, None for the newest. `tell` is called with
    a line about the progress of the command, here if a request has to wait.

    Methods that send a request raise `osc_lib.exceptions.CommandError`. Its message says what to
    do. The subclass `refusals.Refused` is for an answer of 4xx or 5xx, `Unreachable` for none.
    """

    def __init__(
        self, client: Any, requested: str | None = None, tell: Callable[[str], None] | None = None
    ) -> None:
        self._client = client
        self._requested = requested
        self._version = requested or NEWEST
        self.tell = tell or (lambda doing: None)

    def at(self, version: str | None) -> Service:
        """The same service with this microversion as the default, unless the user named one."""
        return Service(self._client, self._requested or version, self.tell)

    def ask(self, path: str, query: Query = ()) -> Any:
        """The parsed answer to a GET."""
        return self.send('GET', path, query, repeatable=True)

    def pages(self, path: str, query: Query = (), body: Any = None) -> Iterator[Any]:
        """Yield the parsed pages of an answer; each page is requested when it is needed.

        Requests are GET, or POST with a body, which writes nothing.
        """
        following: str | None = urllib.parse.urlencode(list(query))
        method = 'GET' if body is None else 'POST'
        while following is not None:
            parameters = urllib.parse.parse_qsl(following, keep_blank_values=True)
            answer = self.send(method, path, parameters, body, repeatable=True)
            yield answer
            following = _query_of_next(answer)

    def ask_about(self, path: str, body: Any) -> Any:
        """The parsed answer to a POST that writes nothing."""
        return self.send('POST', path, body=body, repeatable=True)

    def send(
        self,
        method: str,
        path: str,
        query: Query = (),
        body: Any = None,
        repeatable: bool = False,
    ) -> Any:
        """Send a request; return the parsed answer, None if it has no body.

        While the service is busy, a `repeatable` request is attempted up to `ATTEMPTS` times.
        """
        url = f'{path}?{urllib.parse.urlencode(list(query), safe=":,!")}'.rstrip('?')
        for _attempt in range(ATTEMPTS):
            response = self._request(method, url, body)
            if not (repeatable and _is_busy(response)):
                break
            self.tell('waiting for the service, which is busy')
            time.sleep(_pause(response))
        if response.status_code >= 400:
            raise refusals.refused(response, path, self._names)
        return _values(response)

    def _names(self, kind: str) -> Iterable[str]:
        """All traits or resource classes, according to `kind`; none if they cannot be read."""
        response = self._request('GET', f'/{kind}', None)
        answer = _values(response) if response.ok else {kind: []}
        return (one if isinstance(one, str) else one['name'] for one in answer[kind])

    def fetch(self, url: str, body: Any = None) -> requests.Response:
        """The unparsed answer to a GET, or to a POST of a body, whatever its status.

        Redirects are not followed.
        """
        return self._request('GET' if body is None else 'POST', url, body, redirect=False)

    def _request(self, method: str, url: str, body: Any, **options: Any) -> requests.Response:
        headers = {
            'OpenStack-API-Version': f'placement {self._version}',
            'Accept': 'application/json',
        }
        content = {} if body is None else {'json': body}
        # Not by the client's own method: it takes an error of Keystone for one of Placement, and
        # fails with KeyError.
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
    """Convert errors of keystoneauth1 to errors that tell the user what to do.

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
    """The query of the link to the next page; None on the last page.

    The path of the link is not used: it has the mount point, which the client adds itself.
    """
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
