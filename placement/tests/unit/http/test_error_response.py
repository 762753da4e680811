# SPDX-License-Identifier: Apache-2.0
"""The body of an error (specification: http, "Responses and errors")."""

from typing import Any

import hypothesis
import pytest
import webob
import webob.exc
from hypothesis import strategies

from placement.http.error_response import error_response, without_tags
from placement.tests.thorough import examples

DETAIL = 'No resource provider with uuid foo found'


def problem(accept: str | None, detail: str = DETAIL, **more: Any) -> webob.Response:
    environ = webob.Request.blank('/foo').environ
    if accept is not None:
        environ['HTTP_ACCEPT'] = accept
    environ['openstack.request_id'] = 'req-1'
    return error_response(environ, 404, detail, **more)


def test_error_has_the_request_id_where_there_is_one() -> None:
    response = error_response(webob.Request.blank('/').environ, 400, 'no')

    assert 'request_id' not in response.json['errors'][0]


@pytest.mark.parametrize('status', [400, 401, 403, 404, 405, 406, 409, 415, 500, 503])
def test_every_status_has_its_reason_phrase(status: int) -> None:
    response = error_response(webob.Request.blank('/').environ, status, 'why')

    (error,) = response.json['errors']
    assert response.status_int == status == error['status']
    assert response.status == f'{status} {error["title"]}'
    assert 'why' in error['detail']


@pytest.mark.parametrize('accept', ['text/html', 'text/plain', 'application/json'])
def test_error_response_escapes_markup_in_the_detail(accept: str) -> None:
    response = problem(accept, detail='uuid <script>alert(1)</script> ${environ} {x} %s found')

    assert '<script>' not in response.text
    assert 'alert(1)' in response.text


@pytest.mark.parametrize('accept', ['text/html', 'text/plain', 'application/json'])
@pytest.mark.parametrize('detail', ['☃ Grüße', 'a & b', '$', '${x}', '"\\', 'a\x00b'])
def test_error_response_accepts_any_detail(accept: str, detail: str) -> None:
    response = problem(accept, detail=detail)

    assert response.status_int == 404
    if accept == 'application/json':
        assert detail in response.json['errors'][0]['detail']
    if accept == 'text/plain':
        assert detail in response.text


def test_error_response_does_not_change_the_environ() -> None:
    environ = webob.Request.blank('/foo').environ
    before = dict(environ)

    error_response(environ, 404, DETAIL)

    assert environ == before


PIECES = ('<', '>', '<br', '<br>', '<!--', '-->', '<b>', '--', 'a', ' ', '\n', '\r')


@hypothesis.settings(max_examples=examples(1000))
@hypothesis.given(pieces=strategies.lists(strategies.sampled_from(PIECES), max_size=12))
def test_tags_are_removed_as_webob_does(pieces: list[str]) -> None:
    text = ''.join(pieces)

    assert without_tags(text) == webob.exc.strip_tags(text)


@pytest.mark.parametrize('accept', ['application/json', 'text/plain'])
def test_removing_tags_takes_linear_time_without_closing_brackets(accept: str) -> None:
    """WebOb alone would take hours for this."""
    detail = '<' * 1_000_000

    assert detail in problem(accept, detail).text
