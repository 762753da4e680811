# SPDX-License-Identifier: Apache-2.0
"""Requests to nova at one microversion, and what to do about each error, in words."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import requests
from keystoneauth1 import adapter
from keystoneauth1 import exceptions as keystone
from osc_lib import exceptions

from osc_placement_insight.layout import sentence

#: The first microversion that lists servers whose cell is down; it also has the uuids of
#: migrations (2.59) and hypervisors (2.53), and flavors in servers (2.47).
MICROVERSION = '2.69'
#: Maximum number of retries, with growing pauses, while nova or a proxy is away.
RETRIES = 5
AWAY = [429, 502, 503, 504]

#: Reports the current activity.
Tell = Callable[[str], None]


def tell_nobody(doing: str) -> None:
    """Ignore what is being read."""


class Purpose(NamedTuple):
    """The command that asks nova, and its alternative without nova."""

    asker: str
    without_nova: str


AUDIT = Purpose('The audit', 'To audit placement alone, add --placement-only.')

ADVICE = {
    401: 'Check your credentials.',
    403: '{0.asker} reads the servers of all projects: it needs the rights of an administrator.',
    404: 'Is this the endpoint of nova? {0.without_nova}',
    406: f'{{0.asker}} needs microversion {MICROVERSION}, which nova has since Stein.',
}


def adapter_of(manager: Any, service_type: str, **versions: Any) -> adapter.Adapter:
    """Requests to a service in the cloud of a client, with the same credentials."""
    config = manager.sdk_connection.config
    return adapter.Adapter(
        manager.session,
        service_type=service_type,
        interface=config.get_interface(service_type),
        region_name=config.get_region_name(service_type),
        endpoint_override=config.get_endpoint(service_type),
        **versions,
    )


def of_manager(manager: Any, purpose: Purpose = AUDIT) -> Compute:
    """Nova in the cloud of a client, with the same credentials."""
    client = adapter_of(manager, 'compute')
    return Compute(client, purpose)


class Compute:
    """Nova, as an adapter of keystoneauth1 reaches it.

    All methods send a GET, and raise `osc_lib.exceptions.CommandError`, whose message says what to
    do, where nova does not answer as it should.
    """

    def __init__(self, client: Any, purpose: Purpose = AUDIT, version: str = MICROVERSION) -> None:
        self._client = client
        self._purpose = purpose
        self._version = version

    def at(self, version: str) -> Compute:
        """The same nova at a newer microversion, if it has that."""
        newer = Compute(self._client, self._purpose, version)
        is_older = newer._response('/flavors', {'limit': '1'}).status_code == 406
        return self if is_older else newer

    def ask(self, path: str, query: Mapping[str, str] | None = None) -> Any:
        """The answer, as values."""
        return self._values(self._response(path, query or {}), path)

    def find(self, path: str) -> Any | None:
        """The answer as values; None for a 404."""
        response = self._response(path, {})
        return None if response.status_code == 404 else self._values(response, path)

    def pages(self, path: str, member: str, query: Mapping[str, str]) -> Iterator[Any]:
        """The lists of all pages that `member` has, each as long as nova allows.

        A marker is the uuid, where the elements have one, or the id.
        """
        seen: list[str] = []
        has_more = True
        while has_more:
            page = self._page_after(path, query, seen)
            yield page[member]
            seen += [row.get('uuid') or row['id'] for row in page[member]]
            has_more = bool(page[member]) and f'{member}_links' in page

    def rows(
        self, path: str, member: str, query: Mapping[str, str], tell: Tell = tell_nobody
    ) -> Iterator[dict[str, Any]]:
        """The elements of all pages; `tell` gets the number read so far."""
        count = 0
        for page in self.pages(path, member, query):
            count += len(page)
            tell(f'reading {member} of nova: {count}')
            yield from page

    def _page_after(self, path: str, query: Mapping[str, str], seen: list[str]) -> Any:
        """The page after the last element seen.

        Nova refuses a marker that was purged meanwhile; then the element before it is used.
        """
        for marker in reversed(seen):
            response = self._response(path, {**query, 'marker': marker})
            if not _is_unknown_marker(response):
                return self._values(response, path)
        return self.ask(path, query)

    def _response(self, path: str, query: Mapping[str, str]) -> requests.Response:
        url = f'{path}?{urllib.parse.urlencode(query)}'.rstrip('?')
        try:
            response: requests.Response = self._client.request(
                url,
                'GET',
                raise_exc=False,
                headers={
                    'Accept': 'application/json',
                    'OpenStack-API-Version': f'compute {self._version}',
                },
                connect_retries=RETRIES,
                status_code_retries=RETRIES,
                retriable_status_codes=AWAY,
            )
        except keystone.ClientException as error:
            raise exceptions.CommandError(
                f'Nova cannot be asked: {sentence(str(error))} {self._purpose.without_nova}'
            ) from error
        return response

    def _values(self, response: requests.Response, path: str) -> Any:
        if response.status_code == 200:
            try:
                return response.json()
            except requests.JSONDecodeError as error:
                raise exceptions.CommandError(
                    f'{response.url} does not answer as nova does. {self._purpose.without_nova}'
                ) from error
        reason = sentence(_reason(response) or response.reason)
        advice = ADVICE.get(response.status_code, 'The log of nova says why.')
        raise exceptions.CommandError(
            f'Nova refuses {path}: {reason} {advice.format(self._purpose)} '
            f'(HTTP {response.status_code})'
        )


def _is_unknown_marker(response: requests.Response) -> bool:
    return response.status_code == 400 and 'marker' in _reason(response).lower()


def _reason(response: requests.Response) -> str:
    """The message of an error of nova, {"badRequest": {"message": ...}}; empty where none is."""
    try:
        (error,) = json.loads(response.content).values()
        return str(error['message'])
    except (ValueError, AttributeError, KeyError, TypeError):
        return ''
