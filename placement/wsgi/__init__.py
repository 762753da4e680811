# SPDX-License-Identifier: Apache-2.0
"""The service for WSGI servers such as Apache mod_wsgi, uwsgi and gunicorn.

Specification: configuration, "Entry points for Python".
"""

import gc
import logging
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING
from wsgiref.types import WSGIApplication

if TYPE_CHECKING:
    from placement.conf import ConfigOpts

LOG = logging.getLogger(__name__)


def init_application() -> WSGIApplication:
    """The application, configured from files and the environment.

    :raises oslo_config.cfg.RequiredOptError: no database is configured
    """
    # Imported here because this takes most of the start.
    from placement import conf as placement_conf

    def load(conf: 'ConfigOpts') -> WSGIApplication:
        from placement import deploy

        return deploy.load_for_web_server(conf)

    return start(placement_conf.load, load)


def start(
    configure: 'Callable[[], ConfigOpts]', load: 'Callable[[ConfigOpts], WSGIApplication]'
) -> WSGIApplication:
    """Set up the log, and load an application with a configuration."""
    # The pool of connections to memcached imports eventlet if that is installed, without using it,
    # and each process would print that it is deprecated.
    warnings.filterwarnings('ignore', message=r'\s*Eventlet is deprecated')
    conf = configure()
    from placement.wsgi.log_setup import start_logging

    start_logging(conf)
    if conf.api.auth_strategy == 'noauth2':
        LOG.warning(
            'auth_strategy is noauth2: every client of the web server can claim to be an '
            'administrator. Never use it on an address that others can reach.'
        )
    application = load(conf)
    # The loaded objects live as long as the process, so the garbage collector may ignore them.
    # Forked processes then continue to share their memory.
    gc.freeze()
    return application
