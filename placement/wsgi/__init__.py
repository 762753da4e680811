# SPDX-License-Identifier: Apache-2.0
"""The service for WSGI servers such as Apache mod_wsgi, uwsgi and gunicorn.

Specification: configuration, "Entry points for Python".
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from wsgiref.types import WSGIApplication

from placement import memory

if TYPE_CHECKING:
    from placement.conf import ConfigOpts

LOG = logging.getLogger(__name__)


def start_logging(conf: ConfigOpts) -> None:
    """Log as configured from now on, beginning with the configuration itself."""
    from oslo_log import log

    from placement.conf import PROJECT

    log.setup(conf, PROJECT)
    if conf.log_options:
        conf.log_opt_values(LOG, logging.DEBUG)


def init_application() -> WSGIApplication:
    """The application, configured from files and the environment.

    :raises oslo_config.cfg.RequiredOptError: no database is configured
    """
    with memory.loading_a_service():
        # Imported here because this is the better part of the start, and an eighth faster while
        # nothing looks for garbage in it.
        from placement import conf as placement_conf

        conf = placement_conf.load()
        start_logging(conf)
        if conf.api.auth_strategy == 'noauth2':
            LOG.warning(
                'auth_strategy is noauth2: whoever can connect to the web server is an '
                'administrator if they say so. Never use it on an address that others can reach.'
            )
        from placement import deploy
        from placement.middleware import loopback_hosts

        return loopback_hosts.only_known_hosts(deploy.loadapp(conf), conf)
