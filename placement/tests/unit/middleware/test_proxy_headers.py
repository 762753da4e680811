# SPDX-License-Identifier: Apache-2.0
"""What a proxy tells of its client (specification: http, "Proxy headers")."""

import pytest
from oslo_config import cfg

from placement import conf as placement_conf
from placement.middleware import proxy_headers
from placement.tests.unit.middleware.samples import Inner, ask


def conf(enabled: bool) -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    placement_conf.register_opts(conf)
    conf.set_override('enable_proxy_headers_parsing', enabled, 'oslo_middleware')
    return conf


def test_proxy_headers_are_ignored_unless_enabled() -> None:
    inner = Inner()
    ask(
        proxy_headers.proxy_headers(inner, conf(False)),
        X_Forwarded_Proto='https', X_Forwarded_Host='api.example', X_Forwarded_Prefix='/p',
    )  # fmt: skip

    assert inner.environ['wsgi.url_scheme'] == 'http'
    assert inner.environ['HTTP_HOST'] == 'localhost:80'
    assert inner.environ['SCRIPT_NAME'] == ''


@pytest.mark.parametrize(
    'headers',
    [
        {'Forwarded': 'for=192.0.2.60;proto=https;host=api.example, for=10.0.0.1'},
        {
            'X_Forwarded_Proto': 'https',
            'X_Forwarded_Host': 'api.example',
            'X_Forwarded_For': '192.0.2.60',
        },
    ],
)
def test_forwarded_and_x_forwarded_headers_are_used(headers: dict[str, str]) -> None:
    inner = Inner()
    ask(proxy_headers.proxy_headers(inner, conf(True)), X_Forwarded_Prefix='/placement', **headers)

    assert inner.environ['wsgi.url_scheme'] == 'https'
    assert inner.environ['HTTP_HOST'] == 'api.example'
    assert inner.environ['REMOTE_ADDR'] == '192.0.2.60'
    assert inner.environ['SCRIPT_NAME'] == '/placement'
