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
from osc_placement.http import SessionClient

from osc_placement_insight.commands import ui
from osc_placement_insight.page_names import PageNames
from osc_placement_insight.proxy import Answer
from osc_placement_insight.service import Service
from osc_placement_insight.tests import client
from osc_placement_insight.tests.client import Answering
from placement.tests.servers import ui_services


@pytest.fixture
def endpoint(tmp_path: pathlib.Path) -> Iterator[str]:
    """The address of a service that has the page."""
    with ui_services.below_prefix(tmp_path, '/placement') as url:
        yield url


def read(url: str | urllib.request.Request) -> Any:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read()


def status(url: str) -> int:
    """The status of an answer that is no success; it is closed, as Python 3.14 asks for."""
    with pytest.raises(urllib.error.HTTPError) as caught:
        read(url)
    with caught.value as answer:
        return answer.status or 0


def test_page_is_served_with_the_token_until_it_is_interrupted(endpoint: str) -> None:
    with ui_services.client_proxy(endpoint) as (process, url):
        assert b'<title>Placement</title>' in read(url)
        assert url.endswith('/ui/?token=proxy')
        answer = json.loads(read(url.replace('ui/?token=proxy', 'insight/providers')))
        assert answer['providers'] == []
        assert status(url.replace('ui/?token=proxy', 'resource_providers')) == 404
        posted = urllib.request.Request(
            url.replace('ui/?token=proxy', 'insight/capacity'),
            b'{"requests": {"one": "resources=VCPU:1"}}',
            {'Content-Type': 'application/json', 'Origin': url[: url.index('/', 7)]},
        )
        assert json.loads(read(posted))['capacities']['one']['now']['at_most'] == 0
        process.send_signal(signal.SIGINT)
        printed, complained = process.communicate(timeout=60)

        assert (process.returncode, complained) == (0, '')
        assert printed == '\n'
        with pytest.raises(urllib.error.URLError):
            read(url)


def test_port_is_the_one_that_was_named(endpoint: str) -> None:
    openstack = client.administrator_at(endpoint)
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = taken.getsockname()[1]
        for wrong in (port, 65536):
            found = openstack('placement', 'ui', '--port', str(wrong)).refusal()
            assert found.startswith(f'Port {wrong} of 127.0.0.1 cannot be had: ')
            assert found.endswith('Name another one with --port.')
            assert '..' not in found.replace('127.0.0.1', '')
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
        assert status(once) == 404


class Credentials(plugin.BaseAuthPlugin):
    """Credentials that get a second token when the first is of no use, but no third one."""

    number = 1

    def get_token(self, session: Any, **_more: Any) -> str:
        if self.number > 2:
            answer = requests.Response()
            answer._content = b'{"error": {"message": "The password has expired."}}'
            raise exceptions.Unauthorized('The password has expired.', response=answer)
        return f'token {self.number}'

    def get_endpoint(self, session: Any, **_more: Any) -> str:
        return 'http://placement.example'

    def invalidate(self) -> bool:
        self.number += 1
        return True


def test_token_that_has_expired_is_renewed_until_the_password_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    placement = Answering('200 OK', b'{}', Content_Type='application/json', Set_Cookie='a=b')
    placement.replaces_others(monkeypatch)
    placement.tokens = ['token 2']
    asking = SessionClient(session.Session(Credentials()), {'service_type': 'placement'}, '1.39')

    def fetched() -> Answer:
        return ui._fetched(Service(asking), PageNames({}), '/insight/providers')

    for _ in range(2):
        assert fetched() == (200, {'Content-Type': 'application/json'}, b'{}')
    assert placement.sent == ['token 1', 'token 2', 'token 2']
    placement.tokens = []
    answer = fetched()
    assert answer.status == 502
    assert 'The password has expired.' in json.loads(answer.content)['errors'][0]['detail']
