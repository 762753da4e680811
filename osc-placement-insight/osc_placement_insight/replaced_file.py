# SPDX-License-Identifier: Apache-2.0
"""A file that takes the place of another once all of it is written."""

from __future__ import annotations

import contextlib
import os
import pathlib
import tempfile
from collections.abc import Iterator
from typing import TextIO

from osc_lib import exceptions


@contextlib.contextmanager
def replacing(path: pathlib.Path) -> Iterator[TextIO]:
    """A stream of ASCII, whose file takes the place of the one at a path when all is written.

    Only its owner may read the file.

    :raises osc_lib.exceptions.CommandError: the file cannot be written; then the one before is as
        it was
    """
    try:
        with tempfile.NamedTemporaryFile(
            'w', encoding='ascii', dir=path.parent, prefix=f'.{path.name}.', delete=False
        ) as file:
            temporary = pathlib.Path(file.name)
            try:
                yield file  # type: ignore[misc]
                file.flush()
                os.fsync(file.fileno())
                temporary.replace(path)
            except BaseException:
                temporary.unlink()
                raise
    except OSError as error:
        raise exceptions.CommandError(f'{path} cannot be written: {error.strerror}.') from error
