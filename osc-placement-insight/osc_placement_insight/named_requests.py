# SPDX-License-Identifier: Apache-2.0
"""Questions about several requests by their names, of which the service may refuse some."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from osc_placement_insight.refusals import Refused

Answer = TypeVar('Answer')


def ask_without_refused(
    requests: Mapping[str, str], ask: Callable[[Mapping[str, str]], Answer]
) -> tuple[Answer, dict[str, str]]:
    """The answer about all requests that the service takes, and why it refuses the others.

    The service names the request that it refuses, and answers none of the others: so it is asked
    again without that. There may be none left.
    """
    wanted, refused = dict(requests), dict[str, str]()
    while True:
        try:
            return ask(wanted), refused
        except Refused as error:
            names = [name for name in wanted if str(error).startswith(f'Request {name}: ')]
            if error.status != 400 or not names:
                raise
            name = max(names, key=len)
            refused[name] = str(error)
            del wanted[name]
