# SPDX-License-Identifier: Apache-2.0
"""What a story says of an answer has to say something."""

import unittest
from typing import Any

import pytest
from gabbi import exception

from . import assertions

EMPTY: list[Any] = [None, '', [], {}]


@pytest.mark.parametrize('value', EMPTY, ids=repr)
@pytest.mark.parametrize('key', assertions.KEYS)
def test_an_empty_value_is_refused(key: str, value: Any) -> None:
    request = {'name': 'a request', 'GET': '/', key: value}

    with pytest.raises(exception.GabbiFormatError, match=f"{key} in 'a request' is empty"):
        assertions.check_that_something_is_said({'tests': [request]})


def test_an_empty_value_is_refused_among_the_defaults() -> None:
    story = {'defaults': {'response_candidates': []}, 'tests': []}

    with pytest.raises(exception.GabbiFormatError, match="response_candidates in 'defaults'"):
        assertions.check_that_something_is_said(story)


def test_what_says_something_is_let_through() -> None:
    request = {'name': 'a request', 'GET': '/', 'response_candidates': ['none']}

    assertions.check_that_something_is_said({'tests': [{'name': 'silent'}, request]})


@pytest.mark.parametrize('detail', ['', [], ['']], ids=repr)
def test_an_empty_detail_is_refused(detail: str | list[str]) -> None:
    with pytest.raises(AssertionError, match='an empty detail says nothing'):
        assertions.ErrorHandler().has_detail(unittest.TestCase(), {'detail': 'Why.'}, detail)
