# SPDX-License-Identifier: Apache-2.0
"""Scheme, host and mount point as the client of a proxy sees them.

Specification: http, "Proxy headers".
"""

from wsgiref.types import WSGIApplication

from oslo_middleware import http_proxy_to_wsgi

from placement.conf import ConfigOpts


def proxy_headers(application: WSGIApplication, conf: ConfigOpts) -> WSGIApplication:
    """The application, with scheme, host and mount point of the headers of a trusted proxy.

    The object with the configuration is handed over: without it the library asks the one of
    oslo.config that is global to the process, which nobody has filled.
    """
    if not conf.oslo_middleware.enable_proxy_headers_parsing:
        return application
    wrapped: WSGIApplication = http_proxy_to_wsgi.HTTPProxyToWSGI(application, conf)
    return wrapped
