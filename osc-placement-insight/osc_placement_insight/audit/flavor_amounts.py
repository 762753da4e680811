# SPDX-License-Identifier: Apache-2.0
"""The amounts that a server should hold in placement, by its flavor."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from osc_placement_insight.audit.model import Flavor, Resources, Server, added

#: The classes whose amounts follow from a flavor alone.
JUDGED = ('VCPU', 'PCPU', 'MEMORY_MB', 'DISK_GB')
_RESOURCES = re.compile(r'resources(?P<group>[A-Za-z0-9_-]*):(?P<name>[A-Z0-9_]+)')
_DEDICATED = ('dedicated', 'mixed')


def expected(server: Server) -> dict[str, int]:
    """The amounts of a flavor: VCPU, MEMORY_MB, DISK_GB, and those in its extra specs.

    Processors are VCPU, pinned or not. Classes without an amount are left out. The server must
    have a flavor.
    """
    assert server.flavor is not None
    amounts = _of_hardware(server.flavor, server.boots_from_volume)
    overriding, adding = _of_extra_specs(server.flavor)
    sums = added([amounts | overriding, adding])
    return {name: amount for name, amount in sums.items() if amount}


def differences(server: Server, held: Resources) -> dict[str, tuple[int, int]]:
    """The held and the expected amount of each class in which the two differ.

    PCPU counts as VCPU if the flavor names neither as a resource: a property of the image, or an
    option of the host, determines which of the two nova claims.
    """
    assert server.flavor is not None
    wanted = expected(server)
    names: Sequence[str] = JUDGED
    if not _names_processors(server.flavor):
        names = [name for name in JUDGED if name != 'PCPU']
        held = dict(held) | {'VCPU': _processors(wanted, held)}
    compared = {name: (held.get(name, 0), wanted.get(name, 0)) for name in names}
    return {name: pair for name, pair in compared.items() if pair[0] != pair[1]}


def is_simple(server: Server) -> bool:
    """True if a flavor asks for nothing but processors, memory and disk of the host itself."""
    assert server.flavor is not None
    specs = server.flavor.extra_specs
    return not any(_asks_for_more(name, value) for name, value in specs.items())


def _asks_for_more(name: str, value: str) -> bool:
    if name == 'hw:cpu_policy':
        return value in _DEDICATED
    return name.startswith(('resources', 'pci_passthrough:', 'accel:', 'hw:mem_encryption'))


def _of_hardware(flavor: Flavor, boots_from_volume: bool) -> dict[str, int]:
    root = 0 if boots_from_volume else flavor.disk
    disk = root + flavor.ephemeral + math.ceil(flavor.swap / 1024)
    return {'VCPU': flavor.vcpus, 'MEMORY_MB': flavor.ram, 'DISK_GB': disk}


def _of_extra_specs(flavor: Flavor) -> tuple[dict[str, int], dict[str, int]]:
    """Amounts that replace the flavor's own, and amounts of other groups, which are added."""
    overriding: dict[str, int] = {}
    adding: list[Resources] = []
    for key, value in flavor.extra_specs.items():
        match = _RESOURCES.fullmatch(key)
        if match is None or not value.isdecimal():
            continue
        if match['group']:
            adding.append({match['name']: int(value)})
        else:
            overriding[match['name']] = int(value)
    return overriding, added(adding)


def _names_processors(flavor: Flavor) -> bool:
    found = map(_RESOURCES.fullmatch, flavor.extra_specs)
    return any(match is not None and match['name'] == 'PCPU' for match in found)


def _processors(wanted: Resources, held: Resources) -> int:
    """The processors that a server holds, without the one for the emulator's threads.

    An image may ask for that one too, so it is allowed wherever processors are pinned.
    """
    pinned = held.get('PCPU', 0)
    sum_ = held.get('VCPU', 0) + pinned
    has_one_for_emulator = pinned and sum_ == wanted.get('VCPU', 0) + 1
    return sum_ - 1 if has_one_for_emulator else sum_
