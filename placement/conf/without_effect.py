# SPDX-License-Identifier: Apache-2.0
"""Options that tools of deployers write for every service, and that this one has no use for.

They are never registered: the service ignores them. ``oslo-config-validator`` has to know them, so
that it reports nothing in a file but mistakes. kolla-ansible, OpenStack-Ansible and OpenStack-Helm
write such files.
"""

from oslo_config import cfg

_HELP = 'No effect: this service has no use for it. Tools that configure every service write it.'


def _string(name: str, secret: bool = False) -> cfg.Opt:
    return cfg.StrOpt(name, secret=secret, help=_HELP)


def _boolean(name: str) -> cfg.Opt:
    return cfg.BoolOpt(name, help=_HELP)


def _list(name: str) -> cfg.Opt:
    return cfg.ListOpt(name, help=_HELP)


def _number(name: str) -> cfg.Opt:
    return cfg.FloatOpt(name, help=_HELP)


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """What the tools of oslo.config ask for in the namespace ``placement.without_effect``."""
    return [
        ('DEFAULT', [_list('memcache_servers')]),
        ('oslo_concurrency', [_string('lock_path'), _boolean('disable_process_locking')]),
        (
            'cache',
            [
                _boolean('enabled'),
                _string('backend'),
                cfg.MultiStrOpt('backend_argument', secret=True, help=_HELP),
                _string('config_prefix'),
                _number('expiration_time'),
                _list('memcache_servers'),
                _number('memcache_dead_retry'),
                _number('memcache_socket_timeout'),
                _number('memcache_pool_maxsize'),
                _number('memcache_pool_unused_timeout'),
                _number('memcache_pool_connection_get_timeout'),
                _boolean('tls_enabled'),
                _string('tls_cafile'),
                _string('tls_certfile'),
                _string('tls_keyfile'),
                _string('tls_allowed_ciphers'),
            ],
        ),
        (
            'profiler',
            [
                _boolean('enabled'),
                _boolean('trace_sqlalchemy'),
                _boolean('trace_requests'),
                _string('hmac_keys', secret=True),
                _string('connection_string', secret=True),
            ],
        ),
        (
            'oslo_messaging_notifications',
            [
                cfg.MultiStrOpt('driver', help=_HELP),
                _list('topics'),
                _string('transport_url', True),
            ],
        ),
    ]
