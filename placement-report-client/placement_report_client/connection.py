# SPDX-License-Identifier: Apache-2.0
"""The connection to one service, shared by the threads of a client."""

from __future__ import annotations

import threading
from typing import Any

from keystoneauth1 import adapter
from keystoneauth1 import exceptions as auth_errors

from placement_report_client import errors, microversions
from placement_report_client.microversions import Microversion
from placement_report_client.responses import Response


class Connection:
    """Sends single requests and keeps the newest microversion that both sides support.

    The adapter of keystoneauth1 authenticates and finds the endpoint. Threads may share it, and
    therefore this.
    """

    def __init__(self, adapter: adapter.Adapter) -> None:
        self._adapter = adapter
        self._lock = threading.Lock()
        self._version: Microversion | None = None

    def version(self, timeout: float) -> Microversion:
        """The newest microversion that both sides support; requested once (specification: root).

        :raises errors.TooOld: there is none
        :raises errors.Unreachable: the service does not answer
        """
        version = self._version
        if version is None:
            # Several threads may send this request at once: that is cheaper than one lock, which a
            # thread without answer would keep from the others.
            version = _agreed(self.send('GET', '/', None, None, timeout))
            with self._lock:
                self._version = version
        return version

    def forget(self, version: Microversion) -> None:
        """Request the versions again next time, because the service refuses this one now."""
        with self._lock:
            if self._version == version:
                self._version = None

    def send(
        self, method: str, path: str, version: Microversion | None, body: Any, timeout: float
    ) -> Response:
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
                # `Session` decides which requests may be retried.
                connect_retries=0,
                status_code_retries=0,
            )
        except auth_errors.ConnectionError as error:
            raise errors.Unreachable(str(error)) from error
        except (auth_errors.DiscoveryFailure, auth_errors.HttpServerError) as error:
            # Keystone failed, which is called before the service.
            unreachable = errors.Unreachable(str(error))
            unreachable.was_sent = False
            raise unreachable from error
        except auth_errors.ClientException as error:
            raise errors.Refused(str(error)) from error
        answered = {name.lower(): value for name, value in response.headers.items()}
        return Response(response.status_code, answered, response.content)


def _agreed(answer: Response) -> Microversion:
    """The version to use with the service that has answered with this version document."""
    if answer.status >= 400:
        raise answer.error()
    try:
        described = answer.body()['versions'][0]
        oldest, newest = (
            Microversion.parse(described[name]) for name in ('min_version', 'max_version')
        )
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise errors.Unreachable(
            'the endpoint does not describe itself as a placement service',
            request_id=answer.request_id,
        ) from error
    return microversions.newest_common(oldest, newest)
