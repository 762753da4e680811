# SPDX-License-Identifier: Apache-2.0
"""What ends a rehearsal before there is a report."""


class CannotRehearse(Exception):
    """The message is one line: what is wrong with the dump, the log or an environment."""
