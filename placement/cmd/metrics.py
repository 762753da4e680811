# SPDX-License-Identifier: Apache-2.0
"""`placement-metrics`: the metrics of all processes of a host, on an address of their own.

It reads the files that the processes of the service write, and the database for the gauges of the
cloud. Prometheus then needs no access to the API, and a scrape takes no thread of it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from placement import conf as configuration
from placement import wsgi
from placement.conf import ConfigOpts
from placement.db.engine import diagnosis
from placement.db.engine.database import Database
from placement.exporter.endpoint import Endpoint, answer_metrics
from placement.exporter.gauges import Gauges
from placement.feed.keeper import SnapshotKeeper
from placement.server import listener, signals
from placement.server.server import Server

NAME = 'placement-metrics'
DEFAULT_LISTEN = '127.0.0.1:9178'

# One scrape, and whoever waits for it.
_THREADS = 2

# Prometheus gives up after 10 seconds by default.
_WAIT_SECONDS = 10.0


class CannotServe(Exception):
    """Why the command cannot start, in one line."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until it is told to stop; the exit status."""
    options = _parser().parse_args(arguments)
    signals.interrupt()
    try:
        _serve(options)
    except KeyboardInterrupt:
        pass
    except (CannotServe, listener.CannotListenError) as reason:
        print(f'{NAME}: {reason}', file=sys.stderr)
        return 1
    print(f'{NAME}: stopped', flush=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=NAME, description=(__doc__ or '').partition(': ')[2])
    parser.add_argument(
        '--listen',
        metavar='HOST:PORT',
        type=_address,
        default=DEFAULT_LISTEN,
        help='address to serve on (%(default)s)',
    )
    parser.add_argument('--config-file', help='read this configuration file')
    return parser


def _address(text: str) -> tuple[str, int]:
    """Host and port; an address of version 6 is in brackets."""
    host, colon, port = text.rpartition(':')
    if not colon or not port.isdecimal() or int(port) > listener.MAX_PORT:
        raise argparse.ArgumentTypeError(f'{text} is not HOST:PORT')
    return host.removeprefix('[').removesuffix(']'), int(port)


def _serve(options: argparse.Namespace) -> None:
    """Serve; raises `CannotServe` and `listener.CannotListenError` where that is not possible."""
    conf = _configured(options.config_file)
    with listener.listen(*options.listen) as listening:
        wsgi.start_logging(conf)
        database = _database(conf)
        try:
            server = Server(application(conf, database), _THREADS)
            url = listener.url_of(listening)
            server.run(listening, lambda: print(f'{NAME}: serving {url}/metrics', flush=True))
        finally:
            database.dispose()


def _database(conf: ConfigOpts) -> Database:
    """The database, which need not answer yet; raises `CannotServe` for a URL of none."""
    try:
        return Database.from_conf(conf)
    except diagnosis.ERRORS as error:
        reason = diagnosis.reason_of(error)
        raise CannotServe(f'the database cannot be used: {reason}') from error


def application(conf: ConfigOpts, database: Database) -> WSGIApplication:
    """A WSGI application that has the path `/metrics` and no other."""
    snapshots = SnapshotKeeper(
        database,
        is_cached=conf.placement.candidate_snapshot == 'cached',
        audit_interval=conf.placement.candidate_snapshot_audit_interval,
    )
    gauges = Gauges(conf, database, snapshots)
    return answer_metrics(_not_found, Endpoint(conf.metrics.directory, gauges, _WAIT_SECONDS))


def _not_found(_environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    body = b'The metrics are at /metrics.\n'
    start_response(
        '404 Not Found',
        [('Content-Type', 'text/plain'), ('Content-Length', str(len(body)))],
    )
    return [body]


def _configured(path: str | None) -> ConfigOpts:
    """What is configured; metrics have to be on."""
    try:
        conf = configuration.load([] if path is None else ['--config-file', path])
    except (configuration.Error, OSError) as error:
        words = ' '.join(str(error).split())
        raise CannotServe(f'the configuration is not complete: {words}') from error
    if not conf.metrics.enabled:
        raise CannotServe('nothing is counted: [metrics] enabled is false')
    # What processes have counted is told also while the database is away.
    conf.set_override('max_retries', 0, 'placement_database')
    return conf


if __name__ == '__main__':
    sys.exit(main())
