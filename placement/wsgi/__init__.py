# SPDX-License-Identifier: Apache-2.0
"""The service for WSGI servers such as Apache mod_wsgi, uwsgi and gunicorn.

Specification: configuration, "Entry points for Python".
"""

import gc
import logging
import warnings
from wsgiref.types import WSGIApplication

LOG = logging.getLogger(__name__)


def init_application() -> WSGIApplication:
    """The application, configured from files and the environment.

    :raises oslo_config.cfg.RequiredOptError: no database is configured
    """
    # The pool of connections to memcached loads eventlet where that is installed, uses nothing of
    # it, and each process would print that it is deprecated.
    warnings.filterwarnings('ignore', message=r'\s*Eventlet is deprecated')
    # Imported here because this is the better part of the start.
    from placement import conf as placement_conf
    from placement.wsgi.log_setup import start_logging

    conf = placement_conf.load()
    start_logging(conf)
    if conf.api.auth_strategy == 'noauth2':
        LOG.warning(
            'auth_strategy is noauth2: whoever can connect to the web server is an '
            'administrator if they say so. Never use it on an address that others can reach.'
        )
    from placement import deploy
    from placement.middleware import loopback_hosts

    application = loopback_hosts.only_known_hosts(deploy.loadapp(conf), conf)
    # What is loaded stays for good: the collector need not go through it again and again, and
    # processes that are forked from this one go on sharing its memory.
    gc.freeze()
    return application
