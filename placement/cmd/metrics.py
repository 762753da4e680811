# SPDX-License-Identifier: Apache-2.0
"""`placement-metrics`: the metrics of all processes of a host, on an address of their own.

It reads the files that the processes of the service write, and the database for the gauges of the
cloud. Prometheus then needs no access to the API, and a scrape takes no thread of it.
"""

import argparse
import contextlib
import signal
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from threading import Event, Thread
from wsgiref.simple_server import WSGIServer

from placement import conf as configuration
from placement.cmd.web_server import MAX_PORT, CannotListen, CannotServe
from placement.conf import ConfigOpts
from placement.db.engine import diagnosis, failures
from placement.db.engine.database import Database
from placement.feed.keeper import SnapshotKeeper
from placement.metrics.exporter.endpoint import Endpoint, start_server
from placement.metrics.exporter.failure_domains import MIN_INTERVAL, FailureDomains
from placement.metrics.exporter.gauges import Gauges
from placement.wsgi.log_setup import start_logging

NAME = 'placement-metrics'
DEFAULT_LISTEN = '127.0.0.1:9178'

# Prometheus gives up after 10 seconds by default.
_WAIT_SECONDS = 10.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until it is told to stop; the exit status."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _serve(options)
    except KeyboardInterrupt:
        pass
    except CannotServe as reason:
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
    if not colon or not port.isdecimal() or int(port) > MAX_PORT:
        raise argparse.ArgumentTypeError(f'{text} is not HOST:PORT')
    return host.removeprefix('[').removesuffix(']'), int(port)


def _serve(options: argparse.Namespace) -> None:
    """Serve until `KeyboardInterrupt`; raises `CannotServe` where that is not possible."""
    conf = _configured(options.config_file)
    start_logging(conf)
    host, port = options.listen
    with _database(conf) as database:
        snapshots = SnapshotKeeper.from_conf(conf, database)
        gauges, domains = Gauges(conf, database, snapshots), FailureDomains(snapshots)
        endpoint = Endpoint(
            conf.metrics.directory, lambda: chain(gauges(), domains.read()), _WAIT_SECONDS
        )
        server, thread = _listen(endpoint, host, port)
        with server, _asking(domains, conf.metrics.survival_interval):
            host = f'[{host}]' if ':' in host else host
            print(f'{NAME}: serving http://{host}:{server.server_port}/metrics', flush=True)
            thread.join()


@contextlib.contextmanager
def _asking(domains: FailureDomains, interval: int) -> Iterator[None]:
    """Ask which failures the cloud can take, in a thread, every so many seconds; never for 0."""
    stopped = Event()
    if interval:
        Thread(target=domains.ask_every, args=(interval, stopped), daemon=True).start()
    try:
        yield
    finally:
        stopped.set()


def _listen(endpoint: Endpoint, host: str, port: int) -> tuple[WSGIServer, Thread]:
    try:
        return start_server(endpoint, host, port)
    except (OSError, UnicodeError) as error:
        raise CannotListen(host, port, error) from error


def _database(conf: ConfigOpts) -> Database:
    """The database, which need not answer yet; raises `CannotServe` for a URL of none."""
    try:
        return Database.from_conf(conf)
    except diagnosis.ERRORS as error:
        reason = failures.message_of(error)
        raise CannotServe(f'the database cannot be used: {reason}') from error


def _configured(path: str | None) -> ConfigOpts:
    """The configuration; metrics have to be on. Raises `CannotServe`."""
    try:
        conf = configuration.load([] if path is None else ['--config-file', path])
    except (configuration.Error, OSError) as error:
        words = ' '.join(str(error).split())
        raise CannotServe(f'the configuration is not complete: {words}') from error
    if not conf.metrics.enabled:
        raise CannotServe('nothing is counted: [metrics] enabled is false')
    if 0 < conf.metrics.survival_interval < MIN_INTERVAL:
        raise CannotServe(f'[metrics] survival_interval has to be 0, or {MIN_INTERVAL} at least')
    # What processes have counted is told also while the database is away.
    conf.set_override('max_retries', 0, 'placement_database')
    return conf


if __name__ == '__main__':
    sys.exit(main())
