# SPDX-License-Identifier: Apache-2.0
"""What a gabbi test expects of an answer must not be empty, or it could never fail."""

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
        assertions.check_every_test_expects_something({'tests': [request]})


def test_an_empty_value_is_refused_among_the_defaults() -> None:
    suite = {'defaults': {'response_candidates': []}, 'tests': []}

    with pytest.raises(exception.GabbiFormatError, match="response_candidates in 'defaults'"):
        assertions.check_every_test_expects_something(suite)


def test_expectation_with_content_is_accepted() -> None:
    request = {'name': 'a request', 'GET': '/', 'response_candidates': ['none']}

    assertions.check_every_test_expects_something({'tests': [{'name': 'silent'}, request]})


@pytest.mark.parametrize('detail', ['', [], ['']], ids=repr)
def test_an_empty_detail_is_refused(detail: str | list[str]) -> None:
    with pytest.raises(AssertionError, match='an empty detail says nothing'):
        assertions.ErrorHandler().has_detail(unittest.TestCase(), {'detail': 'Why.'}, detail)
