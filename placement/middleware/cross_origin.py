# SPDX-License-Identifier: Apache-2.0
"""Answers for browsers that run the pages of another site (specification: http, "CORS")."""

from wsgiref.types import WSGIApplication

from oslo_middleware import cors

from placement.conf import ConfigOpts


def cross_origin(application: WSGIApplication, conf: ConfigOpts) -> WSGIApplication:
    """The application, open to the sites in ``[cors] allowed_origin``; as it was without any."""
    if not conf.cors.allowed_origin:
        return application
    wrapped: WSGIApplication = cors.CORS(application, conf)
    return wrapped
