# SPDX-License-Identifier: Apache-2.0
"""What stands for a value that an old client could not send."""

from __future__ import annotations

import enum
from typing import Final


class NotSent(enum.Enum):
    """Its one member is not None, which newer clients send and mean."""

    NOT_SENT = 'not sent'


NOT_SENT: Final = NotSent.NOT_SENT
