# SPDX-License-Identifier: Apache-2.0
"""WSGI middleware: the layers around the application.

Each is a class whose arguments are the wrapped application and its options. `placement.deploy` has
the table of them (specification: http, "Layers").
"""

from collections.abc import Callable, Sequence
from wsgiref.types import WSGIApplication

# Puts itself around an application: a class, or a partial of one with its options.
Middleware = Callable[[WSGIApplication], WSGIApplication]


def wrapped(application: WSGIApplication, rows: Sequence[Middleware | None]) -> WSGIApplication:
    """Return the application with rows of middleware around it, outermost first.

    None stands for middleware that the configuration disables.
    """
    for row in reversed(rows):
        if row is not None:
            application = row(application)
    return application
