# SPDX-License-Identifier: Apache-2.0
"""`openstack placement ui`, from its start to Ctrl-C."""

import json
import pathlib
import signal
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from keystoneauth1 import exceptions, plugin, session
from osc_lib.exceptions import CommandError
from osc_placement.http import SessionClient
from requests import adapters

from osc_placement_insight.commands import ui
from osc_placement_insight.service import Service
from osc_placement_insight.tests import client
from placement.tests.servers import ui_services

UI = ('placement', 'ui')


@pytest.fixture
def endpoint(tmp_path: pathlib.Path) -> Iterator[str]:
    """The address of a service that has the page."""
    with ui_services.below_prefix(tmp_path, '/placement') as url:
        yield url


def read(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read()


def test_page_is_served_with_the_token_until_it_is_interrupted(endpoint: str) -> None:
    with ui_services.client_proxy(endpoint) as (process, url):
        assert b'<title>Placement</title>' in read(url)
        assert url.endswith('/ui/?token=proxy')
        answer = json.loads(read(url.replace('ui/?token=proxy', 'insight/providers')))
        assert answer['providers'] == []
        with pytest.raises(urllib.error.HTTPError, match='404'):
            read(url.replace('ui/?token=proxy', 'resource_providers'))
        process.send_signal(signal.SIGINT)
        printed, complained = process.communicate(timeout=60)

        assert (process.returncode, complained) == (0, '')
        assert printed == '\n'
        with pytest.raises(urllib.error.URLError):
            read(url)


def test_number_that_is_no_port_is_refused(endpoint: str) -> None:
    found = client.administrator_at(endpoint)(*UI, '--port', '65536').refusal()

    assert found.startswith('Port 65536 of 127.0.0.1 cannot be had: ')
    assert '..' not in found.replace('127.0.0.1', '')


def test_port_is_the_one_that_was_named(endpoint: str) -> None:
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = taken.getsockname()[1]
        found = client.administrator_at(endpoint)(*UI, '--port', str(port)).refusal()
    assert found.startswith(f'Port {port} of 127.0.0.1 cannot be had: ')
    assert found.endswith('Name another one with --port.')
    with ui_services.client_proxy(endpoint, '--port', str(port)) as (_process, url):
        assert url.startswith(f'http://127.0.0.1:{port}/')


def test_browser_is_opened_with_an_address_that_is_of_no_use_to_others(
    endpoint: str, tmp_path: pathlib.Path
) -> None:
    opened, browser = tmp_path / 'opened', tmp_path / 'browser'
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.new\nmv {opened}.new {opened}\n')
    browser.chmod(0o700)
    with ui_services.client_proxy(endpoint, '--open', BROWSER=str(browser)) as (_process, url):
        # The server answers only after the browser was started.
        assert b'<title>Placement</title>' in read(url)
        once = opened.read_text().strip()
        assert url.split('/')[3] not in once
        assert b'<title>Placement</title>' in read(once)
        with pytest.raises(urllib.error.HTTPError, match='404'):
            read(once)


class Upstream(adapters.BaseAdapter):
    """A service that has neither the page nor the questions."""

    def send(
        self, request: requests.PreparedRequest, *args: Any, **kwargs: Any
    ) -> requests.Response:
        """It could not be found."""
        response = requests.Response()
        response.request, response.url, response.status_code = request, str(request.url), 404
        response._content = b'{"errors": [{"status": 404, "detail": "It could not be found."}]}'
        return response

    def close(self) -> None:
        """Nothing is open."""


def test_upstream_is_told_to_be_the_wrong_service() -> None:
    with pytest.raises(CommandError, match='of this project, which upstream is not'):
        ui._check(service_behind(Upstream()))


class Renewed(plugin.BaseAuthPlugin):
    """Credentials that get another token whenever the one before is of no use."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = 1

    def get_token(self, session: Any, **_more: Any) -> str:
        return f'token {self.tokens}'

    def get_endpoint(self, session: Any, **_more: Any) -> str:
        return 'http://placement.example'

    def invalidate(self) -> bool:
        self.tokens += 1
        return True


class Transport(adapters.BaseAdapter):
    """A service that knows some tokens, and what it was sent."""

    def __init__(self, *known: str) -> None:
        super().__init__()
        self.known = known
        self.sent: list[str] = []

    def send(
        self, request: requests.PreparedRequest, *args: Any, **kwargs: Any
    ) -> requests.Response:
        """An answer that depends on the token alone."""
        token = str(request.headers['X-Auth-Token'])
        self.sent.append(token)
        response = requests.Response()
        response.request, response.url = request, str(request.url)
        response.status_code = 200 if token in self.known else 401
        response._content = b'{}'
        response.headers.update({'Content-Type': 'application/json', 'Set-Cookie': 'a=b'})
        return response

    def close(self) -> None:
        """Nothing is open."""


def service_behind(transport: adapters.BaseAdapter, credentials: Renewed | None = None) -> Service:
    sessions = requests.Session()
    sessions.mount('http://', transport)
    ks_session = session.Session(auth=credentials or Renewed(), session=sessions)
    return Service(SessionClient(ks_session, {'service_type': 'placement'}, '1.39'))


def test_token_that_has_expired_is_renewed() -> None:
    transport = Transport('token 2')
    service = service_behind(transport)
    for _ in range(2):
        answer = ui._fetched(service, '/insight/providers')
        assert (answer.status, answer.headers) == (200, {'Content-Type': 'application/json'})
    assert transport.sent == ['token 1', 'token 2', 'token 2']


def test_token_that_cannot_be_renewed_is_refused_to_the_page() -> None:
    assert ui._fetched(service_behind(Transport()), '/insight/providers').status == 401


class Expired(Renewed):
    """Credentials that Keystone does not accept any more."""

    def get_token(self, session: Any, **more: Any) -> str:
        if self.tokens > 1:
            answer = requests.Response()
            answer._content = b'{"error": {"message": "The password has expired."}}'
            raise exceptions.Unauthorized('The password has expired.', response=answer)
        return super().get_token(session, **more)


def test_page_is_told_why_the_token_cannot_be_renewed() -> None:
    answer = ui._fetched(service_behind(Transport(), Expired()), '/insight/providers')
    assert answer.status == 502
    detail = json.loads(answer.content)['errors'][0]['detail']
    assert 'The password has expired.' in detail


def test_page_is_told_why_the_service_does_not_answer() -> None:
    ks_session = session.Session(auth=Renewed())
    away = SessionClient(ks_session, {'service_type': 'placement'}, '1.39')
    answer = ui._fetched(Service(away), 'http://127.0.0.1:1/insight/providers')
    assert answer.status == 502
    assert 'cannot be reached' in json.loads(answer.content)['errors'][0]['detail']
