# SPDX-License-Identifier: Apache-2.0
"""WSGI middleware: the layers around the application.

Each is a class whose arguments are the wrapped application and its options. `placement.deploy` has
the table of them (specification: http, "Layers").
"""

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec
from wsgiref.types import WSGIApplication

Options = ParamSpec('Options')


class Middleware:
    """A row of a table of middleware: a class and its options."""

    def __init__(
        self,
        cls: Callable[Concatenate[Any, Options], WSGIApplication],
        *args: Options.args,
        **options: Options.kwargs,
    ) -> None:
        self.cls = cls
        self._args = args
        self._options = options

    def around(self, application: WSGIApplication) -> WSGIApplication:
        """Return the application with this middleware around it."""
        return self.cls(application, *self._args, **self._options)


def wrapped(application: WSGIApplication, rows: Sequence[Middleware | None]) -> WSGIApplication:
    """Return the application with rows of middleware around it, outermost first.

    None stands for middleware that the configuration disables.
    """
    for row in reversed(rows):
        if row is not None:
            application = row.around(application)
    return application
