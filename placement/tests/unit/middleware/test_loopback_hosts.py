# SPDX-License-Identifier: Apache-2.0
"""Allowed Host headers under noauth2 (DNS rebinding)."""

import pytest
from oslo_config import cfg

from placement.middleware import loopback_hosts, wrapped
from placement.tests.unit.middleware.samples import Inner, ask, configuration, error_of


def conf(*hosts: str, strategy: str = 'noauth2') -> cfg.ConfigOpts:
    return configuration(api__auth_strategy=strategy, api__noauth2_allowed_hosts=list(hosts))


@pytest.mark.parametrize(
    'host',
    [
        'localhost', 'LOCALHOST:8778', 'localhost.', '127.0.0.1', '127.0.0.1:80', '127.9.9.9',
        '[::1]', '[::1]:8778', 'known.example', 'Known.Example:8778',
    ],
)  # fmt: skip
def test_requests_for_the_machine_itself_and_for_configured_hosts_pass(host: str) -> None:
    application = wrapped(Inner(), [loopback_hosts.row(conf('KNOWN.example'))])

    assert ask(application, Host=host).status_int == 204


@pytest.mark.parametrize(
    'host',
    [
        'evil.example', 'evil.example:8778', 'localhost.evil.example', '127.0.0.1.evil.example',
        '192.0.2.1', '0.0.0.0', '[2001:db8::1]', '::1', 'localhost:x', 'localhost@evil.example',
        'evil.example#localhost', '[::1', '', ' localhost', 'evil.example, localhost',
        '2130706433',
    ],
)  # fmt: skip
def test_requests_for_other_hosts_are_refused_with_403(host: str) -> None:
    inner = Inner()
    response = ask(loopback_hosts.KnownHosts(inner, {'known.example'}), Host=host)

    assert response.status_int == 403
    assert 'auth_strategy' in error_of(response)['detail']
    assert not inner.environ


def test_request_without_a_host_is_not_of_a_browser() -> None:
    def without_host(environ, start_response):  # type: ignore[no-untyped-def]
        del environ['HTTP_HOST']
        return loopback_hosts.KnownHosts(Inner())(environ, start_response)

    assert ask(without_host).status_int == 204


@pytest.mark.parametrize('configured', [conf('*'), conf(strategy='keystone')])
def test_every_host_is_allowed_when_so_configured_and_when_callers_have_to_be_known(
    configured: cfg.ConfigOpts,
) -> None:
    assert loopback_hosts.row(configured) is None
