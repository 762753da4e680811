# SPDX-License-Identifier: Apache-2.0
"""Makes a client for one of the clouds in ``clouds.yaml``, with any kind of authentication.

The file is that of the other OpenStack tools; this module reads what it needs to reach one
service, and ignores vendor profiles.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from keystoneauth1 import adapter, loading, plugin
from keystoneauth1 import exceptions as auth_errors

from placement_report_client import errors
from placement_report_client.client import ReportClient
from placement_report_client.retry_policy import RetryPolicy

SERVICE_TYPE = 'placement'

DIRECTORIES = (
    pathlib.Path(),
    pathlib.Path('~/.config/openstack'),
    pathlib.Path('/etc/openstack'),
)

# Options of a session of keystoneauth1 besides authentication.
SESSION_OPTIONS = ('verify', 'cacert', 'cert', 'key')

# Options of an adapter, by which it finds the endpoint. With the prefix ``placement_`` they apply
# to this service alone, without it to all services of the cloud.
ADAPTER_OPTIONS = ('region_name', 'interface', 'service_name')


def connect(name: str | None = None, retry_policy: RetryPolicy | None = None) -> ReportClient:
    """A client for the cloud of this name, or for that of ``OS_CLOUD``.

    :raises errors.NotConfigured: the cloud is not configured, or incompletely
    """
    wanted = name or os.environ.get('OS_CLOUD')
    if not wanted:
        raise errors.NotConfigured('no cloud is named, neither by the caller nor by OS_CLOUD')
    retry_policy = retry_policy or RetryPolicy()
    return ReportClient(
        make_adapter(find_cloud(wanted), retry_policy.request_timeout), retry_policy
    )


def find_cloud(name: str) -> Mapping[str, Any]:
    """The cloud's entry of clouds.yaml, merged with that of secure.yaml if it exists.

    :raises errors.NotConfigured: there is no entry
    """
    file = _first(_files('clouds', 'OS_CLIENT_CONFIG_FILE'))
    if file is None:
        raise errors.NotConfigured('there is no clouds.yaml')
    cloud = _clouds_of(file).get(name)
    if cloud is None:
        raise errors.NotConfigured(f'{file} has no cloud {name}')
    secrets = _first(_files('secure', 'OS_CLIENT_SECURE_FILE'))
    return _merged(cloud, _clouds_of(secrets).get(name, {}) if secrets else {})


def make_adapter(cloud: Mapping[str, Any], timeout: float | None = None) -> adapter.Adapter:
    """The adapter of keystoneauth1 for an entry of clouds.yaml.

    ``timeout`` applies to requests that keystoneauth1 sends itself, such as those for a token.

    :raises errors.NotConfigured: the entry is incomplete
    """
    options = {option: cloud[option] for option in SESSION_OPTIONS if option in cloud}
    if options.get('verify') is True:
        # True is the default; given explicitly, it makes keystoneauth1 ignore ``cacert``.
        del options['verify']
    session = loading.session.Session().load_from_options(
        auth=_make_auth(cloud), timeout=timeout, **options
    )
    return adapter.Adapter(
        session,
        service_type=cloud.get('placement_service_type', SERVICE_TYPE),
        endpoint_override=cloud.get('placement_endpoint_override'),
        **{option: _of_service(cloud, option) for option in ADAPTER_OPTIONS},
    )


def _make_auth(cloud: Mapping[str, Any]) -> plugin.BaseAuthPlugin:
    kind = cloud.get('auth_type', 'password')
    configured = cloud.get('auth') or {}

    def value(option: loading.Opt) -> Any:
        names = [one.dest for one in (option, *option.deprecated)]
        return next((configured[name] for name in names if name in configured), option.default)

    try:
        loader: loading.BaseLoader[Any] = loading.get_plugin_loader(kind)
        auth: plugin.BaseAuthPlugin = loader.load_from_options_getter(value)
    except auth_errors.ClientException as error:
        raise errors.NotConfigured(f'auth_type {kind}: {error}') from error
    return auth


def _of_service(cloud: Mapping[str, Any], option: str) -> Any:
    return cloud.get(f'placement_{option}', cloud.get(option))


def _files(stem: str, variable: str) -> Iterator[pathlib.Path]:
    """The paths where a file may be, in order of precedence."""
    if variable in os.environ:
        yield pathlib.Path(os.environ[variable])
    for directory in DIRECTORIES:
        for suffix in ('.yaml', '.yml'):
            yield directory.expanduser() / f'{stem}{suffix}'


def _first(files: Iterator[pathlib.Path]) -> pathlib.Path | None:
    return next((file for file in files if file.is_file()), None)


def _clouds_of(file: pathlib.Path) -> Mapping[str, Any]:
    try:
        content = yaml.safe_load(file.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise errors.NotConfigured(f'{file} cannot be read: {error}') from error
    clouds = content.get('clouds') if isinstance(content, dict) else None
    if not isinstance(clouds, dict):
        raise errors.NotConfigured(f'{file} does not list clouds')
    return clouds


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Both mappings merged; the second takes precedence."""
    merged = dict(one)
    for name, value in other.items():
        before = merged.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            value = _merged(before, value)
        merged[name] = value
    return merged
