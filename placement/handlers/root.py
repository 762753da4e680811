# SPDX-License-Identifier: Apache-2.0
"""The document at the root (specification: root)."""

from placement.http import views
from placement.http.reply import Reply
from placement.http.request import Request


def show(request: Request) -> Reply:
    """Show the versions of the API; the same at every version, and public."""
    return Reply(views.versions(request.api.oldest, request.api.newest))
