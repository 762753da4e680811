# SPDX-License-Identifier: Apache-2.0
"""Options without effect, which deployment tools write for every service.

The service does not register them, and ignores them. ``oslo-config-validator`` has to know them,
so that it reports only mistakes in files of kolla-ansible, OpenStack-Ansible and OpenStack-Helm.
"""

import functools
from collections.abc import Callable

from oslo_config import cfg

_HELP = 'No effect: this service has no use for it. Tools that configure every service write it.'


_string = functools.partial(cfg.StrOpt, help=_HELP)
_secret = functools.partial(cfg.StrOpt, help=_HELP, secret=True)
_boolean = functools.partial(cfg.BoolOpt, help=_HELP)
_list = functools.partial(cfg.ListOpt, help=_HELP)
_number = functools.partial(cfg.FloatOpt, help=_HELP)
_several = functools.partial(cfg.MultiStrOpt, help=_HELP)

# The names of options by group and type.
_OPTIONS: dict[str, dict[Callable[..., cfg.Opt], tuple[str, ...]]] = {
    'DEFAULT': {_list: ('memcache_servers',)},
    'oslo_concurrency': {_string: ('lock_path',), _boolean: ('disable_process_locking',)},
    'cache': {
        _boolean: ('enabled', 'tls_enabled'),
        _string: (
            'backend', 'config_prefix', 'tls_cafile', 'tls_certfile', 'tls_keyfile',
            'tls_allowed_ciphers',
        ),
        functools.partial(_several, secret=True): ('backend_argument',),
        _number: (
            'expiration_time', 'memcache_dead_retry', 'memcache_socket_timeout',
            'memcache_pool_maxsize', 'memcache_pool_unused_timeout',
            'memcache_pool_connection_get_timeout',
        ),
        _list: ('memcache_servers',),
    },
    'profiler': {
        _boolean: ('enabled', 'trace_sqlalchemy', 'trace_requests'),
        _secret: ('hmac_keys', 'connection_string'),
    },
    'oslo_messaging_notifications': {
        _several: ('driver',),
        _list: ('topics',),
        _secret: ('transport_url',),
    },
}  # fmt: skip


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """List the options of the namespace ``placement.without_effect`` for oslo.config's tools."""
    return [
        (group, [make(name) for make, names in options.items() for name in names])
        for group, options in _OPTIONS.items()
    ]
