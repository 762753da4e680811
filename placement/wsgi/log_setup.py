# SPDX-License-Identifier: Apache-2.0
"""Logging that never fails the request that is logged."""

import contextlib
import logging
import logging.handlers
import sys
from typing import TYPE_CHECKING

from placement.conf import PROJECT, warn_of_mistakes

if TYPE_CHECKING:
    from placement.conf import ConfigOpts

LOG = logging.getLogger('placement.wsgi')


class FailSafeHandler(logging.Handler):
    """Wraps a handler, and writes records to standard error that the handler cannot write.

    A watched file is reopened after a rotation. Before Python 3.14 an exception there would end a
    request, or a thread of the web server. Since then the library prints a traceback for each
    record, as it does when a disk is full.
    """

    def __init__(self, handler: logging.Handler) -> None:
        super().__init__(handler.level)
        self._handler = handler
        self._handle_error = handler.handleError
        handler.handleError = self._fail  # type: ignore[method-assign]
        self._reason = ''
        self.setFormatter(handler.formatter)

    def emit(self, record: logging.LogRecord) -> None:
        """Pass the record to the handler. Raises nothing."""
        try:
            self._handler.handle(record)
        except Exception as error:
            with contextlib.suppress(Exception):
                self._write(record, str(error))
        else:
            self._reason = ''

    def close(self) -> None:
        """Close the wrapped handler."""
        self._handler.close()
        super().close()

    def _fail(self, record: logging.LogRecord) -> None:
        """Raise the error of an unusable file; leave other errors to the library."""
        error = sys.exception()
        if isinstance(error, OSError):
            raise error
        self._handle_error(record)

    def _write(self, record: logging.LogRecord, reason: str) -> None:
        """Write to standard error, with the reason if it has changed."""
        if reason != self._reason:
            self._reason = reason
            print(f'The log cannot be written: {reason}', file=sys.stderr)
        print(self.format(record), file=sys.stderr, flush=True)


def start_logging(conf: 'ConfigOpts') -> None:
    """Set up the log as configured, and log the configuration."""
    from oslo_log import log

    try:
        log.setup(conf, PROJECT)
    except OSError:
        _set_up_without_file(conf)
    root = logging.getLogger()
    root.handlers[:] = [FailSafeHandler(handler) for handler in root.handlers]
    warn_of_mistakes(conf)
    if conf.log_options:
        conf.log_opt_values(LOG, logging.DEBUG)


def _set_up_without_file(conf: 'ConfigOpts') -> None:
    """Log to a file that cannot be opened yet; each record tries again."""
    from oslo_log import log

    path = log._get_log_file_path(conf)
    assert path is not None
    for name in ('log_file', 'log_dir'):
        conf.set_override(name, None)
    try:
        log.setup(conf, PROJECT)
    finally:
        for name in ('log_file', 'log_dir'):
            conf.clear_override(name)
    root = logging.getLogger()
    handler = logging.handlers.WatchedFileHandler(path, delay=True)
    handler.setFormatter(root.handlers[0].formatter)
    if not (conf.use_stderr or conf.use_journal):
        # Standard output, the library's replacement for a file.
        del root.handlers[0]
    root.addHandler(handler)
