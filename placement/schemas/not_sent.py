# SPDX-License-Identifier: Apache-2.0
"""A stand-in for a value that an old client could not send."""

import enum
from typing import Final


class NotSent(enum.Enum):
    """Its one member is not None, which newer clients send and mean."""

    NOT_SENT = 'not sent'


NOT_SENT: Final = NotSent.NOT_SENT
