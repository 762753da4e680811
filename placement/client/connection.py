# SPDX-License-Identifier: Apache-2.0
"""One service as all threads of a client see it: requests in, answers out."""

from __future__ import annotations

import threading
from typing import Any

from keystoneauth1 import adapter
from keystoneauth1 import exceptions as auth_errors

from placement.client import errors, microversions
from placement.client.microversions import Microversion
from placement.client.responses import Answer


class Connection:
    """Sends single requests and remembers which microversion both sides know.

    Who is asking, and where the service is, is the matter of the adapter of keystoneauth1, which
    may be shared by threads, and so may this.
    """

    def __init__(self, adapter: adapter.Adapter) -> None:
        self._adapter = adapter
        self._lock = threading.Lock()
        self._version: Microversion | None = None

    def version(self, timeout: float) -> Microversion:
        """The newest microversion that both sides know; asked for once (specification: root).

        :raises errors.TooOld: there is none
        :raises errors.Unreachable: the service does not say
        """
        version = self._version
        if version is None:
            # Threads that begin together may ask together: that is cheaper than to let one
            # that is not answered hold up the others.
            version = _agreed(self.ask('GET', '/', None, None, timeout))
            with self._lock:
                self._version = version
        return version

    def forget(self, version: Microversion) -> None:
        """Ask again next time, because the service refuses this version now."""
        with self._lock:
            if self._version == version:
                self._version = None

    def ask(
        self, method: str, path: str, version: Microversion | None, body: Any, timeout: float
    ) -> Answer:
        """The answer to one request, sent once.

        :raises errors.Refused: there is no endpoint, or no token for it
        :raises errors.Unreachable: there is no answer
        """
        headers = {'Accept': 'application/json'}
        if version is not None:
            headers['OpenStack-API-Version'] = f'placement {version}'
        try:
            response = self._adapter.request(
                path,
                method,
                json=body,
                headers=headers,
                timeout=timeout,
                raise_exc=False,
                # What may be repeated is decided by those who know what it is.
                connect_retries=0,
                status_code_retries=0,
            )
        except auth_errors.ConnectionError as error:
            raise errors.Unreachable(str(error)) from error
        except (auth_errors.DiscoveryFailure, auth_errors.HttpServerError) as error:
            # It is Keystone that fails, who is asked first.
            unreachable = errors.Unreachable(str(error))
            unreachable.was_sent = False
            raise unreachable from error
        except auth_errors.ClientException as error:
            raise errors.Refused(str(error)) from error
        answered = {name.lower(): value for name, value in response.headers.items()}
        return Answer(response.status_code, answered, response.content)


def _agreed(answer: Answer) -> Microversion:
    """The version to use with the service that has described itself like this."""
    if answer.status >= 400:
        raise answer.error()
    try:
        described = answer.body()['versions'][0]
        oldest, newest = (
            Microversion.parse(described[name]) for name in ('min_version', 'max_version')
        )
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise errors.Unreachable(
            'what answers does not describe itself as a placement service',
            request_id=answer.request_id,
        ) from error
    return microversions.newest_common(oldest, newest)
