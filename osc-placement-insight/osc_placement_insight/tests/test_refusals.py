# SPDX-License-Identifier: Apache-2.0
"""Each error of the service is told with what to do about it."""

from collections.abc import Callable
from typing import Any

import pytest
import requests
from requests import adapters

from osc_placement_insight.service import ATTEMPTS
from osc_placement_insight.tests import client
from osc_placement_insight.tests.client import Client
from osc_placement_insight.tests.conftest import Service

LIST = ('placement', 'unmet', 'demand', 'list')


class Scripted(adapters.BaseAdapter):
    """A transport that gives one answer to everything below /insight, and remembers the URLs."""

    def __init__(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        super().__init__()
        self._answer = (status, body, headers)
        self.urls: list[str] = []

    def send(
        self, request: requests.PreparedRequest, *args: Any, **kwargs: Any
    ) -> requests.Response:
        """The answer, or that of a version document."""
        response = requests.Response()
        response.request, response.url = request, str(request.url)
        response.status_code, response._content = 200, b'{"versions": []}'
        if '/insight' in response.url:
            self.urls.append(response.url)
            response.status_code, response._content, headers = self._answer
            response.headers.update(headers)
            response.reason = 'the reason'
        return response

    def close(self) -> None:
        """Nothing is open."""


Answering = Callable[..., Scripted]


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Answering:
    """Make every service give this answer below /insight."""

    def answer(status: int, body: bytes = b'', **headers: str) -> Scripted:
        names = {name.replace('_', '-'): value for name, value in headers.items()}
        scripted = Scripted(status, body, names)
        monkeypatch.setattr(requests.Session, 'get_adapter', lambda *_, **__: scripted)
        return scripted

    return answer


SOMEWHERE = client.administrator_at('http://placement.example')


def test_what_is_switched_off_names_the_option() -> None:
    options = {('insight', 'unmet_demand'): False, ('history', 'enabled'): False}
    with Service(options) as service:
        openstack = client.administrator_at(service.endpoint)
        refusal, of_history = (
            openstack(*command).refusal() for command in (LIST, ('placement', 'history', 'list'))
        )

    assert of_history.startswith('This is switched off: [history] enabled is false.')

    assert refusal.startswith(
        'This is switched off: [insight] unmet_demand is false. The operator of the service can '
        'set this option to true. (HTTP 404, req-'
    )


def test_what_policy_refuses_names_the_rule(service: Service) -> None:
    nobody = Client(
        {'OS_AUTH_TYPE': 'admin_token', 'OS_ENDPOINT': service.endpoint, 'OS_TOKEN': 'a:b'}
    )
    refusal = nobody(*LIST).refusal()

    assert refusal.startswith(
        'Policy does not allow placement:insight:unmet_demand to be performed. Administrators '
    )


def test_a_service_without_insight_is_told(answering: Answering) -> None:
    answering(404, b'{"errors": [{"status": 404, "detail": "It could not be found.\\n\\n   "}]}')

    assert SOMEWHERE(*LIST).refusal() == (
        'It could not be found. This service has no /insight/unmet_demand: the command needs '
        'openstack-placement 17.0 or later of this project, which upstream is not. Or is this not '
        'the right endpoint ("openstack endpoint list --service placement", or --os-endpoint)? '
        '(HTTP 404)'
    )


def test_a_page_of_something_else_is_told(answering: Answering) -> None:
    answering(200, b'<html>Welcome</html>')

    assert SOMEWHERE(*LIST).refusal() == (
        'http://placement.example/insight/unmet_demand does not answer as the Placement service '
        'does. Is this the right endpoint ("openstack endpoint list --service placement", or '
        '--os-endpoint)?'
    )


def test_an_error_of_a_proxy_is_told(answering: Answering) -> None:
    answering(502, b'<html>Bad Gateway</html>')

    assert SOMEWHERE(*LIST).refusal() == (
        'The service answers "the reason". The log of the service says why. (HTTP 502)'
    )


def test_a_busy_service_is_asked_again_several_times(answering: Answering) -> None:
    busy = answering(503, b'{"errors": [{"detail": "Another question."}]}', Retry_After='0')

    assert SOMEWHERE(*LIST).refusal() == (
        'Another question. The service is busy or being restarted; try again in a while. '
        '(HTTP 503)'
    )
    assert len(busy.urls) == ATTEMPTS


def test_missing_credentials_are_told(answering: Answering) -> None:
    answering(401, b'{"message": "no", "code": "401 Unauthorized"}')

    assert 'Check your credentials.' in SOMEWHERE(*LIST).refusal()


def test_the_newest_version_of_an_older_service_is_told(answering: Answering) -> None:
    answering(406, b'{"errors": [{"detail": "Invalid microversion", "max_version": "1.28"}]}')

    assert SOMEWHERE(*LIST).refusal() == (
        'Invalid microversion. The service has microversions up to 1.28: '
        '--os-placement-api-version 1.28. (HTTP 406)'
    )


def test_a_certificate_that_is_not_trusted_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise requests.exceptions.SSLError('certificate verify failed')

    monkeypatch.setattr(adapters.HTTPAdapter, 'send', refuse)
    refusal = SOMEWHERE(*LIST).refusal()

    assert refusal.startswith('The Placement service cannot be reached: ')
    assert 'certificate verify failed' in refusal
