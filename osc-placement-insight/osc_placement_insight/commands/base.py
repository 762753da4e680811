# SPDX-License-Identifier: Apache-2.0
"""What the commands have in common."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from typing import Any

from osc_lib.command import command

from osc_placement_insight import service
from osc_placement_insight.progress import Progress
from osc_placement_insight.service import Service


@contextlib.contextmanager
def asking(asker: command.Command, doing: str, is_shown: bool = True) -> Iterator[Service]:
    """The service that a command asks; a terminal shows what it is doing after a second.

    Not so with `is_shown` false, for a command that prints while it asks.

    Requests are made at the newest microversion unless the user names one, with
    `--os-placement-api-version` or in `clouds.yaml`.

    :raises osc_lib.exceptions.CommandError: there is no service, or it cannot be reached
    """
    manager: Any = asker.app.client_manager
    with Progress(sys.stderr if is_shown else io.StringIO(), doing) as progress:
        with service.failures_in_words():
            client = manager.placement
        version = client_version(manager)
        yield Service(client, version, progress.tell)


def client_version(manager: Any) -> str:
    """The microversion that the user asks for; the newest where osc-placement would negotiate."""
    told: str = manager._api_version['placement']
    return service.NEWEST if told == service.NEGOTIATED else told
