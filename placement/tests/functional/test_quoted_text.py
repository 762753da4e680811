# SPDX-License-Identifier: Apache-2.0
"""Answers that quote texts of clients are short, and take linear time.

The same texts in the same places are measured by `python -m benchmarks.quoted_text`.
"""

import html
from collections.abc import Iterator
from wsgiref.types import WSGIApplication

import pytest
import webob
import webob.exc

from placement import errors

from . import quoted_text
from .fixtures import applications

#: With the sentence of the status, and what surrounds the detail.
MOST = errors.Invalid.max_length + 1_000


@pytest.fixture(scope='module')
def application() -> Iterator[WSGIApplication]:
    service = applications.Service()
    yield service.application
    service.stop()


@pytest.mark.parametrize('place', quoted_text.PLACES)
@pytest.mark.parametrize('accept', quoted_text.FORMATS)
def test_long_texts_are_quoted_in_part_and_without_the_quadratic_function_of_webob(
    application: WSGIApplication, place: str, accept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(webob.exc, 'strip_tags')
    for text in ('<' * 59_997 + '-->', '&' * 60_000):
        request = webob.Request(quoted_text.request(place, text, accept))
        response = request.get_response(application)
        assert response.status_int < 500, place
        assert len(html.unescape(response.text)) <= MOST
