# SPDX-License-Identifier: Apache-2.0
"""Flavors with their extra specs, as nova shows them to the user."""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping
from typing import Any

from osc_placement_insight.compute import Compute, Tell, tell_nobody
from osc_placement_insight.flavors import Flavor


def list_flavors(compute: Compute, tell: Tell = tell_nobody) -> list[Flavor]:
    """All flavors, including those of other projects if the user may see them.

    :raises osc_lib.exceptions.CommandError: nova does not list them
    """
    return [
        _flavor(row)
        for row in compute.rows('/flavors/detail', 'flavors', {'is_public': 'None'}, tell)
    ]


def find_flavor(compute: Compute, name_or_id: str) -> Flavor | None:
    """A flavor by its id or else its name; None where nova has none, or hides it.

    :raises osc_lib.exceptions.CommandError: nova does not answer as it should
    """
    found = compute.find(f'/flavors/{urllib.parse.quote(name_or_id, safe="")}')
    if found is not None:
        return _flavor(found['flavor'])
    return next((one for one in list_flavors(compute) if one.name == name_or_id), None)


def _flavor(row: Mapping[str, Any]) -> Flavor:
    return Flavor(
        row['name'],
        row['vcpus'],
        row['ram'],
        row['disk'],
        row['OS-FLV-EXT-DATA:ephemeral'],
        # An empty text for none, before 2.75.
        int(row['swap'] or 0),
        row.get('extra_specs', {}),
    )
