# SPDX-License-Identifier: Apache-2.0
"""Failure domains of an option: each host or zone, one of them, or the domains in a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from osc_lib import exceptions

from osc_placement_insight import files
from osc_placement_insight.what_if.known import Known, zones
from osc_placement_insight.what_if.names import Names

HOSTS, ZONES = 'hosts', 'zones'


def of_option(value: str, known: Known | None, names: Names) -> Mapping[str, Any]:
    """The failure domains of an option, in the service's format.

    :raises osc_lib.exceptions.CommandError: zones are wanted without nova, there is no such
        aggregate, or the file is no mapping of names to hosts
    """
    if value == HOSTS:
        return {'each': 'root'}
    if value.startswith('@'):
        return {'domains': {value[1:]: names.where(value)}}
    return {'domains': _of_zones(known, names) if value == ZONES else _of_file(value, names)}


def _of_zones(known: Known | None, names: Names) -> Mapping[str, Any]:
    if known is None:
        named = names.zones()
        if not named:
            raise exceptions.CommandError(
                'The service gives no names to aggregates, so that zones are known to nova alone: '
                'leave out --without-nova, or name a file of domains.'
            )
        # One domain for each aggregate, also where several are called the same.
        return {
            name if len(uuids) == 1 else f'{name} ({uuid})': {'member_of': uuid}
            for name, uuids in named.items()
            for uuid in sorted(uuids)
        }
    by_uuid = {one.uuid: one for one in known.aggregates}
    domains = dict[str, Any]()
    for zone, uuids in zones(known).items():
        hosts = frozenset[str]().union(*(by_uuid[uuid].hosts for uuid in uuids))
        providers = [one.uuid for one in known.hypervisors.values() if one.host in hosts]
        if providers:
            domains[zone] = {'member_of': uuids[0]} if len(uuids) == 1 else providers
    if not domains:
        raise exceptions.CommandError(
            'nova has no zone with hosts. List zones with "openstack availability zone list".'
        )
    return domains


def _of_file(name: str, names: Names) -> Mapping[str, Any]:
    values = files.read(name, has_names_only=True)
    if not isinstance(values, dict) or not values:
        raise exceptions.CommandError(
            f'{name} does not name what is lost together, such as "rack 7: [host1, host2]" or '
            '"az1: @az1".'
        )
    return {
        str(domain): names.where(where) if isinstance(where, str) else where
        for domain, where in values.items()
    }
