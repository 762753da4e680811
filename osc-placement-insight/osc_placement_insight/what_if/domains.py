# SPDX-License-Identifier: Apache-2.0
"""What is lost together, as an option says it: each host, each zone, or what a file names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from osc_lib import exceptions

from osc_placement_insight import files
from osc_placement_insight.what_if.known import Known, zones
from osc_placement_insight.what_if.names import Names

HOSTS, ZONES = 'hosts', 'zones'


def of_option(value: str, known: Known | None, names: Names) -> Mapping[str, Any]:
    """What is lost, as the service takes it.

    :raises osc_lib.exceptions.CommandError: zones are wanted without nova, or the file is no
        mapping of names to hosts
    """
    if value == HOSTS:
        return {'each': 'root'}
    return {'domains': _of_zones(known) if value == ZONES else _of_file(value, names)}


def _of_zones(known: Known | None) -> Mapping[str, Any]:
    if known is None:
        raise exceptions.CommandError(
            'Zones are known to nova alone: leave out --without-nova, or name a file of domains.'
        )
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
    values = files.read(name)
    if not isinstance(values, dict) or not values:
        raise exceptions.CommandError(
            f'{name} does not name what is lost together, such as "rack 7: [host1, host2]" or '
            '"az1: @az1".'
        )
    return {
        str(domain): names.where(where) if isinstance(where, str) else where
        for domain, where in values.items()
    }
