# SPDX-License-Identifier: Apache-2.0
"""A fake service: an adapter of keystoneauth1 that returns prepared answers in order."""

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import requests
from keystoneauth1 import adapter, session

import placement_report_client as client
from placement_report_client import microversions

#: The newest version that the client supports.
NEWEST = str(microversions.NEWEST)

QUICK = client.RetryPolicy(first_delay=0, max_delay=0)


def answer(status: int = 200, body: Any = None, **headers: str) -> requests.Response:
    """An answer; underscores in the names of headers are hyphens."""
    response = requests.Response()
    response.status_code = status
    response._content = body if isinstance(body, bytes) else json.dumps(body).encode()
    response.headers.update({name.replace('_', '-'): text for name, text in headers.items()})
    return response


def versions(newest: str, oldest: str = '1.0') -> requests.Response:
    """The version document of a service."""
    return answer(body={'versions': [{'min_version': oldest, 'max_version': newest}]})


def error(status: int, code: str | None = None, detail: str = 'It is so.') -> requests.Response:
    """An error answer in the form of the service."""
    told = {'status': status, 'title': 'Title', 'detail': f'A generic sentence.\n\n {detail}  '}
    if code is not None:
        told['code'] = code
    return answer(status, {'errors': [told]}, x_openstack_request_id='req-1')


@dataclasses.dataclass(frozen=True)
class Sent:
    """One request that the client has sent."""

    method: str
    path: str
    version: str | None
    body: Any
    options: dict[str, Any]

    def __str__(self) -> str:
        return f'{self.method} {self.path}'


Step = requests.Response | Exception | Callable[[], requests.Response]


class Scripted(adapter.Adapter):
    """Returns the next answer, and records the requests."""

    def __init__(self, *steps: Step, newest: str | None = NEWEST) -> None:
        super().__init__(session.Session(), service_type='placement')
        self.steps = [*([versions(newest)] if newest else []), *steps]
        self.sent: list[Sent] = []

    def request(self, url: str, method: str, **options: Any) -> requests.Response:
        """The next prepared answer."""
        version = options['headers'].get('OpenStack-API-Version')
        self.sent.append(Sent(method, url, version, options.pop('json', None), options))
        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step if isinstance(step, requests.Response) else step()

    def lines(self) -> list[str]:
        """The requests after the first, which was for the versions."""
        return [str(sent) for sent in self.sent[1:]]


def report(service: Scripted, retry_policy: client.RetryPolicy = QUICK) -> client.ReportClient:
    """A client of the service."""
    return client.ReportClient(service, retry_policy)
