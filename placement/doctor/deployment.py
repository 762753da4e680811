# SPDX-License-Identifier: Apache-2.0
"""What is examined: a configuration, and the account that the service runs as."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from placement.conf import ConfigOpts
from placement.doctor.account import Account
from placement.doctor.result import Result


@dataclasses.dataclass(frozen=True)
class Deployment:
    """A service as it is installed and configured here; `environ` are environment variables."""

    conf: ConfigOpts
    account: Account
    environ: Mapping[str, str]


#: Returns what it found, or None for a deployment that it does not apply to.
Check = Callable[[Deployment], Result | None]
