# SPDX-License-Identifier: Apache-2.0
"""The body of an error (specification: http, "Responses and errors")."""

import hypothesis
import pytest
import webob
import webob.exc
from hypothesis import strategies

from placement.http.error_response import error_response, without_tags
from placement.tests.thorough import examples


def problem(accept: str, detail: str) -> webob.Response:
    environ = webob.Request.blank('/foo').environ | {'HTTP_ACCEPT': accept}
    return error_response(environ, 404, detail)


@pytest.mark.parametrize('accept', ['text/html', 'text/plain', 'application/json'])
@pytest.mark.parametrize(
    'detail', ['<script>alert(1)</script> {x} %s', '☃ Grüße', 'a & b', '$ ${x}', '"\\', 'a\x00b']
)
def test_error_response_accepts_any_detail_and_escapes_markup(accept: str, detail: str) -> None:
    response = problem(accept, detail)

    assert response.status_int == 404
    assert '<script>' not in response.text
    shown = without_tags(detail)
    if accept == 'application/json':
        assert shown in response.json['errors'][0]['detail']
    if accept == 'text/plain':
        assert shown in response.text


PIECES = ('<', '>', '<br', '<br>', '<!--', '-->', '<b>', '--', 'a', ' ', '\n', '\r')


@hypothesis.settings(max_examples=examples(1000))
@hypothesis.given(pieces=strategies.lists(strategies.sampled_from(PIECES), max_size=12))
def test_tags_are_removed_as_webob_does(pieces: list[str]) -> None:
    text = ''.join(pieces)

    assert without_tags(text) == webob.exc.strip_tags(text)


MANY = 1_000_000


@pytest.mark.parametrize(
    ('text', 'shown'),
    [
        ('<' * MANY, '<' * MANY),
        ('<br' * MANY, '<br' * MANY),
        ('<' * MANY + '-->', '<' * MANY),
        ('<!--' * MANY + '<', '<'),
        ('<' * MANY + '>' + '<' * MANY, '<' * MANY),
        ('<br' * MANY + '-->' + '<br' * MANY, '\n' + '<br' * MANY),
    ],
    ids=['tags', 'breaks', 'tags of comments', 'comments', 'one tag', 'one break'],
)
def test_tags_that_do_not_end_are_found_in_linear_time(text: str, shown: str) -> None:
    """Use texts for most of which WebOb alone would take hours."""
    assert without_tags(text) == shown
