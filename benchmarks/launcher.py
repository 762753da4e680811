# SPDX-License-Identifier: Apache-2.0
"""Serves whichever `placement` is installed in the environment of the Python that runs this file.

    python benchmarks/launcher.py PORT THREADS
    uwsgi --wsgi-file benchmarks/launcher.py ...

Both services run under this same file, so that they have the same server, the same threads and
the same way to count statements. It is run as a script, which starts waitress, or loaded by uWSGI,
and imports nothing of its package.
"""

import collections
import functools
import importlib
import json
import os
import resource
import sys
from collections.abc import Callable, Iterable
from typing import Any

import sqlalchemy as sa

COUNTERS_PATH = '/-/counters'
STOP_PATH = '/-/counters/stop'

# Statements that one driver sends itself and another leaves to SQLAlchemy: not counted.
NOT_COUNTED = ('BEGIN IMMEDIATE', 'PRAGMA', 'SAVEPOINT', 'RELEASE', 'SET ')

# A search that does not end must not exhaust the memory of the machine.
MAX_MEMORY = 8 << 30

counters: collections.Counter[str] = collections.Counter()


def _count_statement(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
    if not statement.startswith(NOT_COUNTED):
        counters['statements'] += 1


def start_counting() -> None:
    """Count what any engine of this process sends to its database, until `stop_counting`."""
    if not sa.event.contains(sa.Engine, 'before_cursor_execute', _count_statement):
        sa.event.listen(sa.Engine, 'before_cursor_execute', _count_statement)
        _patch_pymysql(_counted)


def stop_counting() -> None:
    """Stop counting, which makes statements a little slower."""
    if sa.event.contains(sa.Engine, 'before_cursor_execute', _count_statement):
        sa.event.remove(sa.Engine, 'before_cursor_execute', _count_statement)
        _patch_pymysql(lambda counted: counted.__wrapped__)


Execute = Callable[..., Any]


def _patch_pymysql(change: Callable[[Any], Execute]) -> None:
    """Patch the function of PyMySQL that makes a round trip; other drivers offer no such place."""
    try:
        connection = importlib.import_module('pymysql.connections').Connection
    except ImportError:
        return
    connection._execute_command = change(connection._execute_command)


def _counted(execute: Execute) -> Execute:
    @functools.wraps(execute)
    def counted(*arguments: Any) -> Any:
        counters['round_trips'] += 1
        return execute(*arguments)

    return counted


def with_counters(application: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    """The application with two more paths: one starts counting and shows the counts, one stops."""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environ['PATH_INFO']
        if path not in (COUNTERS_PATH, STOP_PATH):
            return application(environ, start_response)
        if path == COUNTERS_PATH:
            start_counting()
        else:
            stop_counting()
        body = json.dumps({'statements': 0, 'round_trips': 0, **counters}).encode()
        start_response('200 OK', [('Content-Length', str(len(body)))])
        return [body]

    return answer


def make_application() -> Callable[..., Iterable[bytes]]:
    """The application of this environment, with the paths of the counters."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    # Neither service may import modules from the directory of this file.
    sys.path[:] = [path for path in sys.path if path != os.path.dirname(os.path.abspath(__file__))]
    from placement.wsgi import init_application

    return with_counters(init_application())


def main() -> None:
    """Serve under waitress until killed."""
    port, threads = map(int, sys.argv[1:3])
    waitress = importlib.import_module('waitress')
    waitress.serve(
        make_application(),
        host='127.0.0.1',
        port=port,
        threads=threads,
        connection_limit=1000,
        asyncore_use_poll=True,
    )


if __name__ == '__main__':
    main()
elif __name__.startswith('uwsgi_file'):
    application = make_application()
