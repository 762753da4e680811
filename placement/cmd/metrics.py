# SPDX-License-Identifier: Apache-2.0
"""`placement-metrics`: the metrics of all processes of a host, on an address of their own.

It reads the files that the processes of the service write, and the database for the gauges of the
cloud. Prometheus then needs no access to the API, and a scrape takes no thread of it.
"""

import argparse
import contextlib
import functools
import sys
from collections.abc import Iterator, Sequence
from threading import Thread
from wsgiref.simple_server import WSGIServer

from placement import conf as configuration
from placement import extension
from placement.cmd.web_server import MAX_PORT, CannotListen, CannotServe, run_until_signal
from placement.conf import ConfigOpts
from placement.db.engine import failures
from placement.db.engine.database import Database
from placement.doctor import connection
from placement.feed.gauges import Gauges, ReadGauges
from placement.feed.keeper import SnapshotKeeper
from placement.feed.sink import open_database
from placement.metrics.endpoint import Endpoint, start_server
from placement.wsgi.log_setup import start_logging

NAME = 'placement-metrics'
DEFAULT_LISTEN = '127.0.0.1:9178'

# Prometheus gives up after 10 seconds by default.
_WAIT_SECONDS = 10.0
_MAX_WAITING = 16


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until a signal arrives; return the exit status."""
    options = _parser().parse_args(arguments)
    return run_until_signal(NAME, functools.partial(_serve, options))


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
    """Host and port; an IPv6 address is in brackets."""
    host, colon, port = text.rpartition(':')
    if not colon or not port.isdecimal() or int(port) > MAX_PORT:
        raise argparse.ArgumentTypeError(f'{text} is not HOST:PORT')
    return host.removeprefix('[').removesuffix(']'), int(port)


def _serve(options: argparse.Namespace) -> None:
    """Serve until `KeyboardInterrupt`.

    :raises CannotServe: the address cannot be used
    """
    conf = _configured(options.config_file)
    start_logging(conf)
    host, port = options.listen
    with _database(conf) as database, _gauges(conf, database) as gauges:
        metrics = extension.list_metrics()
        directory = conf.metrics.directory
        endpoint = Endpoint(directory, metrics, gauges, _WAIT_SECONDS, _MAX_WAITING)
        server, thread = _listen(endpoint, host, port)
        with server:
            host = f'[{host}]' if ':' in host else host
            print(f'{NAME}: serving http://{host}:{server.server_port}/metrics', flush=True)
            thread.join()


@contextlib.contextmanager
def _gauges(conf: ConfigOpts, database: Database) -> Iterator[Gauges]:
    """Yield the gauges of the cloud, including extensions.

    :raises CannotServe: the configuration of an extension is invalid
    """
    snapshots = SnapshotKeeper.from_conf(conf, database)
    with contextlib.ExitStack() as stack:
        added = list[ReadGauges]()
        try:
            for each in extension.list_enabled(conf):
                added += each.gauges(conf, database)
                added += stack.enter_context(each.exporter_gauges(conf, snapshots))
        except configuration.Error as error:
            raise CannotServe(str(error)) from error
        yield Gauges(conf, database, snapshots, added)


def _listen(endpoint: Endpoint, host: str, port: int) -> tuple[WSGIServer, Thread]:
    try:
        return start_server(endpoint, host, port)
    except (OSError, UnicodeError) as error:
        raise CannotListen(host, port, error) from error


def _database(conf: ConfigOpts) -> Database:
    """The database, which need not answer yet.

    :raises CannotServe: the URL names no known database
    """
    try:
        return open_database(conf)
    except connection.ERRORS as error:
        reason = failures.message_of(error)
        raise CannotServe(f'the database cannot be used: {reason}') from error


def _configured(path: str | None) -> ConfigOpts:
    """The configuration.

    :raises CannotServe: the configuration is invalid, or metrics are off
    """
    try:
        conf = configuration.load([] if path is None else ['--config-file', path])
    except (configuration.Error, OSError) as error:
        words = ' '.join(str(error).split())
        raise CannotServe(f'the configuration is not complete: {words}') from error
    if not conf.metrics.enabled:
        raise CannotServe('nothing is counted: [metrics] enabled is false')
    # The counts of processes are served even while the database does not answer.
    conf.set_override('max_retries', 0, 'placement_database')
    return conf


if __name__ == '__main__':
    sys.exit(main())
