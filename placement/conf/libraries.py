# SPDX-License-Identifier: Apache-2.0
"""Options of libraries, with this service's defaults."""

from oslo_config import cfg
from oslo_log import log
from oslo_middleware import cors, http_proxy_to_wsgi
from oslo_middleware.opts import list_opts_healthcheck
from oslo_policy import opts as policy_opts

CORS_DEFAULTS: dict[str, list[str]] = {
    'allow_headers': [
        'X-Auth-Token',
        'X-Openstack-Request-Id',
        'X-Identity-Status',
        'X-Roles',
        'X-Service-Catalog',
        'X-User-Id',
        'X-Tenant-Id',
        'OpenStack-API-Version',
    ],
    'expose_headers': [
        'X-Auth-Token',
        'X-Openstack-Request-Id',
        'X-Subject-Token',
        'X-Service-Token',
        'OpenStack-API-Version',
    ],
    'allow_methods': ['GET', 'PUT', 'POST', 'DELETE', 'PATCH'],
}

POLICY_FILE = 'policy.yaml'


def _log_levels() -> list[str]:
    """The log levels of oslo.log, and INFO for Routes, which logs every path that it tries."""
    levels: list[str] = list(log.get_default_log_levels())
    return levels if 'routes=INFO' in levels else [*levels, 'routes=INFO']


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options of the libraries, and set their defaults in this object only.

    The functions of the libraries change the defaults of the whole process. That would affect
    other services in the same process, as in functional tests.
    """
    log.register_options(conf)
    conf.set_default('default_log_levels', _log_levels())
    policy_opts.set_defaults(conf)
    conf.set_default('policy_file', POLICY_FILE, group='oslo_policy')
    conf.register_opts(http_proxy_to_wsgi.OPTS, group='oslo_middleware')
    for group, options in list_opts_healthcheck():
        conf.register_opts(options, group=group)
    conf.register_opts(cors.OPTS, group='cors')
    for name, value in CORS_DEFAULTS.items():
        conf.set_default(name, value, group='cors')


def tell_policy_file(path: str | None) -> None:
    """Set the policy file that ``oslopolicy-validator`` reads.

    It takes the file from the global object of oslo.config instead of the enforcer.
    """
    policy_opts.set_defaults(cfg.CONF)
    cfg.CONF.set_default('policy_file', path or POLICY_FILE, group='oslo_policy')


def set_defaults() -> None:
    """Change the defaults of the process, for the generator of sample configuration."""
    log.set_defaults(default_log_levels=_log_levels())
    cors.set_defaults(**CORS_DEFAULTS)
