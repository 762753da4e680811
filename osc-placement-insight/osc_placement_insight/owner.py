# SPDX-License-Identifier: Apache-2.0
"""The trait of the providers of nova, which it requires once all of its agents are upgraded."""

from __future__ import annotations

from osc_placement_insight.refusals import Refused
from osc_placement_insight.service import Service

#: A nova-compute of 2026.2 or later gives it to its providers.
OWNER = 'OWNER_NOVA'
COMPUTE_NODE = 'COMPUTE_NODE'
PROVIDERS = '/insight/providers'


def is_required(service: Service) -> bool:
    """True if nova requires the trait in each group of a request, as far as Placement knows.

    nova goes by the versions of its agents; an agent that is upgraded has given the trait to its
    hosts. Where the service does not list providers, nothing is known.

    :raises osc_lib.exceptions.CommandError: The service cannot be reached.
    """
    try:
        return _has_any(service, OWNER) and not _has_any(service, f'!{OWNER}')
    except Refused:
        return False


def _has_any(service: Service, trait: str) -> bool:
    query = [('required', f'{COMPUTE_NODE},{trait}'), ('page_limit', '1')]
    return bool(service.ask(PROVIDERS, query)['providers'])
