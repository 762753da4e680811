# SPDX-License-Identifier: Apache-2.0
"""Checks of the identity service, and of memcached, which caches validated tokens."""

import socket
from typing import Any

from keystoneauth1 import discover, loading
from keystoneauth1 import exceptions as keystone_errors
from keystoneauth1 import session as keystone_session

from placement.conf import ConfigOpts
from placement.doctor.check import CheckResult, Deployment, failure, ok, warning

GROUP = 'keystone_authtoken'
_SECONDS = 5


def register_options(conf: ConfigOpts) -> None:
    """Register the options of keystonemiddleware, which the library registers late."""
    for group, options in library_options():
        conf.register_opts(options, group=group)
    loading.register_auth_conf_options(conf, GROUP)


def library_options() -> list[tuple[str, list[Any]]]:
    """Return the options of keystonemiddleware by group; none if it is not installed."""
    try:
        from keystonemiddleware import opts
    except ImportError:
        return []
    options: list[tuple[str, list[Any]]] = opts.list_auth_token_opts()
    return options


def check_strategy(deployment: Deployment) -> CheckResult:
    """Report the strategy of authentication."""
    strategy = deployment.conf.api.auth_strategy
    if strategy == 'noauth2':
        return warning(
            'Callers are not authenticated: each can claim to be an administrator (noauth2).',
            'Set [api] auth_strategy = keystone, unless this is a trial on one machine.',
        )
    return ok(f'{strategy}.')


def check_public_url(deployment: Deployment) -> CheckResult:
    """Connect to the identity service that a 401 names."""
    option = f'[{GROUP}] www_authenticate_uri'
    url = deployment.conf[GROUP].www_authenticate_uri
    if not url:
        return warning(
            f'{option} is not set, so callers without a token are not told where to get one.',
            f'Set {option} to the public URL of Keystone.',
        )
    reason = _unreachable(deployment.conf, url)
    if reason is not None:
        # Only a warning: callers may reach it from their network.
        return warning(f'{url}: {reason}', f'Correct {option}, or start Keystone.')
    return ok(f'{url} is an identity service.')


def check_url(deployment: Deployment) -> CheckResult:
    """Connect to the identity service that validates tokens."""
    try:
        plugin = loading.load_auth_from_conf_options(deployment.conf, GROUP)
    except keystone_errors.ClientException as error:
        return failure(f'[{GROUP}]: {error}', f'Correct the options of [{GROUP}].')
    url = getattr(plugin, 'auth_url', None)
    if not url:
        return failure(
            f'[{GROUP}] auth_type or auth_url is not set, so no token can be validated.',
            f'Set auth_type = password, auth_url and the account of the service in [{GROUP}].',
        )
    reason = _unreachable(deployment.conf, url)
    if reason is not None:
        return failure(f'{url}: {reason}', f'Correct [{GROUP}] auth_url, or start Keystone.')
    return ok(f'{url} is an identity service.')


def check_credentials(deployment: Deployment) -> CheckResult:
    """Get a token for the account of the service."""
    plugin = loading.load_auth_from_conf_options(deployment.conf, GROUP)
    try:
        _session(deployment.conf).get_token(plugin)
    except keystone_errors.ClientException as error:
        return failure(
            f'The identity service refuses the account of [{GROUP}]: {_words(error)}',
            f'Correct username, password, project and domains in [{GROUP}].',
        )
    return ok('The identity service gives a token to the account of the service.')


def check_memcached(deployment: Deployment) -> CheckResult:
    """Connect to every memcached server."""
    servers = deployment.conf[GROUP].memcached_servers
    if not servers:
        return warning(
            'Tokens are kept in each process alone: every process asks Keystone for each token.',
            f'Set [{GROUP}] memcached_servers.',
        )
    silent = [f'{server} ({reason})' for server in servers if (reason := _refusal(server))]
    if silent:
        return warning(
            f'Cannot connect to {", ".join(silent)}: Keystone is asked for each token.',
            f'Start memcached, or correct [{GROUP}] memcached_servers.',
        )
    return ok(f'Connected to {", ".join(servers)}.')


def _session(conf: ConfigOpts) -> keystone_session.Session:
    """Return a session like the library's, with short timeouts."""
    group = conf[GROUP]
    certificate = (group.certfile, group.keyfile) if group.keyfile else group.certfile
    return keystone_session.Session(
        verify=False if group.insecure else group.cafile or True,
        cert=certificate,
        timeout=_SECONDS,
        connect_retries=0,
    )


def _unreachable(conf: ConfigOpts, url: str) -> str | None:
    """Return the reason why no identity service answers at a URL; None if one does."""
    try:
        discover.get_version_data(_session(conf), url, authenticated=False)
    except keystone_errors.ClientException as error:
        return _words(error)
    return None


def _words(error: Exception) -> str:
    return ' '.join(str(error).split())


def _refusal(server: str) -> str | None:
    """Return the reason why connecting to a memcached server fails; None if it succeeds."""
    address = server.removeprefix('inet6:').removeprefix('inet:')
    host, _, port = address.rpartition(':')
    if not port.isdigit():
        host, port = address, '11211'
    try:
        with socket.create_connection((host.strip('[]'), int(port)), _SECONDS):
            return None
    except OSError as error:
        return error.strerror or str(error)
