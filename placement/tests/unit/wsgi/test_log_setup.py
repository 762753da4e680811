# SPDX-License-Identifier: Apache-2.0
"""Records that a handler cannot write go to standard error."""

import io
import logging

import pytest

from placement.wsgi.log_setup import FailSafeHandler


class FullDisk(io.StringIO):
    """A stream that takes nothing."""

    def write(self, _text: str) -> int:
        raise OSError(28, 'No space left on device')


@pytest.fixture
def record() -> logging.LogRecord:
    return logging.LogRecord('placement', logging.INFO, '', 1, 'GET /%s', ('meanwhile',), None)


def test_errors_that_the_library_catches_are_told_once(
    record: logging.LogRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    """Use a stream that fails: the logging library catches its errors."""
    handler = FailSafeHandler(logging.StreamHandler(FullDisk()))
    for _ in range(2):
        handler.handle(record)

    assert capsys.readouterr().err == (
        'The log cannot be written: [Errno 28] No space left on device\n'
        'GET /meanwhile\nGET /meanwhile\n'
    )


def test_a_record_that_is_wrong_is_left_to_the_library(
    record: logging.LogRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    record.args = ('too', 'many')
    FailSafeHandler(logging.StreamHandler(io.StringIO())).handle(record)

    complained = capsys.readouterr().err
    assert '--- Logging error ---' in complained
    assert 'cannot be written' not in complained
