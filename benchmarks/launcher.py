# SPDX-License-Identifier: Apache-2.0
"""Serves whichever `placement` is installed in the environment of the Python that runs this file.

    python benchmarks/launcher.py PORT THREADS
    uwsgi --wsgi-file benchmarks/launcher.py ...

Both services run under this same file, so that they have the same server, the same threads and
the same way to count statements. It is run as a script, below waitress, or loaded by uWSGI, and
imports nothing of its package.
"""

import collections
import importlib
import json
import os
import resource
import sys
from collections.abc import Callable, Iterable
from typing import Any

import sqlalchemy as sa

COUNTERS_PATH = '/-/counters'

# What a driver may say by itself or leave to us, and which is no question to the database.
NOT_COUNTED = ('BEGIN', 'PRAGMA', 'SAVEPOINT', 'RELEASE', 'SET ')

# A search that would never end must not take the memory of the whole machine with it.
MOST_MEMORY = 8 << 30

counters: collections.Counter[str] = collections.Counter()


def count_statements() -> None:
    """From now on, count what any engine of this process sends to its database."""

    @sa.event.listens_for(sa.Engine, 'before_cursor_execute')
    def _statement(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if not statement.startswith(NOT_COUNTED):
            counters['statements'] += 1


def count_round_trips() -> None:
    """From now on, count how often PyMySQL waits for its server; other drivers do not tell."""
    try:
        connection = importlib.import_module('pymysql.connections').Connection
    except ImportError:
        return
    execute = connection._execute_command

    def counted(self: Any, *arguments: Any) -> Any:
        counters['round_trips'] += 1
        return execute(self, *arguments)

    connection._execute_command = counted


def with_counters(application: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    """The application, and one more path that tells what was counted."""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ['PATH_INFO'] != COUNTERS_PATH:
            return application(environ, start_response)
        body = json.dumps({'statements': 0, 'round_trips': 0, **counters}).encode()
        start_response('200 OK', [('Content-Length', str(len(body)))])
        return [body]

    return answer


def make_application() -> Callable[..., Iterable[bytes]]:
    """The application of this environment, and the path that tells what was counted."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    # The directory of this file holds nothing that either service should find.
    sys.path[:] = [path for path in sys.path if path != os.path.dirname(os.path.abspath(__file__))]
    if os.environ.get('BENCHMARK_COUNTS') == 'yes':
        count_statements()
        count_round_trips()
    from placement.wsgi import init_application

    return with_counters(init_application())


def main() -> None:
    """Serve below waitress until killed."""
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
