# SPDX-License-Identifier: Apache-2.0
"""Requests without a method, which uWSGI makes of some malformed ones."""

from placement.middleware import body_limit
from placement.tests.unit.middleware.samples import Inner, ask


def test_method_passes_as_it_is() -> None:
    inner = Inner()
    ask(body_limit.RequestMethod(inner), method='PUT')

    assert inner.environ['REQUEST_METHOD'] == 'PUT'
