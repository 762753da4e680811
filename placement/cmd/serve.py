# SPDX-License-Identifier: Apache-2.0
"""`placement-serve` and `placement-api`: the service in a process of its own, for trials.

``placement-serve`` runs out of the box. Without a configuration file it keeps its data in a
directory, brings the database up to date, and does not authenticate callers (noauth2). It reads
no file that is not named to it.
``placement-api`` adds nothing to what is configured.
"""

import argparse
import dataclasses
import functools
import logging
import os
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from wsgiref.types import WSGIApplication

from placement import conf as placement_conf
from placement import deploy
from placement.cmd import web_server
from placement.cmd.web_server import CannotListen, CannotServe
from placement.conf import files
from placement.middleware import loopback_hosts
from placement.wsgi.log_setup import start_logging

LOG = logging.getLogger(__name__)

DEFAULT_PORT = 8778
SQLITE_MAGIC = b'SQLite format 3\0'
# One waits for the database while another works; many keep each other from working.
DEFAULT_THREADS = 4
_DESCRIPTION = (__doc__ or '').split('\n\n')[-1]

Say = Callable[[str], None]


def _say_where(say: Say, url: str, strategy: str) -> None:
    """Print where the service is, and two commands that talk to it."""
    token = 'admin' if strategy == 'noauth2' else '$OS_TOKEN'
    say(f'serving on {url}, stop with Ctrl-C; try')
    print(f'    curl {url}/')
    print(
        f'    curl -H "X-Auth-Token: {token}" -H "OpenStack-API-Version: placement latest" '
        f'{url}/resource_providers',
        flush=True,
    )


def _nothing(*_arguments: object) -> None:
    """Do nothing: what `placement-serve` does between its steps."""


@dataclasses.dataclass(frozen=True, slots=True)
class Program:
    """A command that runs the service, and what it does between the steps of the start.

    With a `state_dir`, the default of its option, it runs out of the box. `discard` gets that
    directory before the database is opened, `fill` the configuration before the application is
    loaded; both may raise `CannotServe`. `say_where` gets the address and the strategy of
    authentication when the service answers.
    """

    name: str
    description: str
    state_dir: str | None = 'state'
    is_configurable: bool = True
    discard: Callable[[str], None] = _nothing
    fill: Callable[[placement_conf.ConfigOpts, Say], None] = _nothing
    say_where: Callable[[Say, str, str], None] = _say_where


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the service out of the box until it is told to stop; the exit status."""
    return run(Program('placement-serve', _DESCRIPTION), arguments)


def api(arguments: Sequence[str] | None = None) -> int:
    """Run the service as it is configured until it is told to stop; the exit status."""
    return run(Program('placement-api', _DESCRIPTION, state_dir=None), arguments)


def run(program: Program, arguments: Sequence[str] | None) -> int:
    """Run the service as a program does until it is told to stop; the exit status."""
    options = _parser(program).parse_args(arguments)
    say = functools.partial(print, f'{program.name}:', flush=True)
    web_server.interrupt()
    try:
        _serve(program, options, say)
    except KeyboardInterrupt:
        pass
    except CannotServe as reason:
        print(f'{program.name}: {reason}', file=sys.stderr)
        return 1
    say('stopped')
    return 0


def _parser(program: Program) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=program.name, description=program.description)
    parser.add_argument('--host', default='127.0.0.1', help='address to serve on (%(default)s)')
    parser.add_argument(
        '--port',
        type=int,
        default=DEFAULT_PORT,
        help='port to serve on (%(default)s); 0 takes one that is free',
    )
    parser.add_argument(
        '--threads',
        type=int,
        default=DEFAULT_THREADS,
        help='how many requests are worked on at a time (%(default)s)',
    )
    if program.is_configurable:
        parser.add_argument('--config-file', help='read this configuration file')
    if program.state_dir is not None:
        parser.add_argument(
            '--state-dir',
            default=program.state_dir,
            help='where the data is kept when no database is configured (./%(default)s)',
        )
    return parser


def _serve(program: Program, options: argparse.Namespace, say: Say) -> None:
    """Start what is needed, one step after the other, and serve.

    :raises CannotServe: one of the steps is not possible
    """
    state = None if program.state_dir is None else os.path.abspath(options.state_dir)
    conf = _load_configuration(options.config_file if program.is_configurable else None, state)
    if state is not None and not program.is_configurable:
        _refuse_other_data(conf, state)
    say(f'configuration: {_describe_configuration(conf, os.environ)}')
    _refuse_noauth2_beyond_loopback(conf.api.auth_strategy, options.host, options.port)
    conf.set_default('noauth2_allowed_hosts', [options.host], 'api')
    with _listen(options.host, options.port) as listening:
        if state is not None:
            program.discard(state)
        _prepare_database(conf, state, say)
        program.fill(conf, say)
        start_logging(conf)
        application = _load_application(conf, say)
        strategy = conf.api.auth_strategy
        words = ': callers are not authenticated, and only this machine can connect'
        say(f'authentication: {strategy}{words if strategy == "noauth2" else ""}')
        url = web_server.url_of(listening)
        if conf.ui.enabled:
            say(f'page: {url}/ui/')
        web_server.serve(
            application,
            listening,
            options.threads,
            lambda: program.say_where(say, url, strategy),
            conf.placement.max_request_body_size,
        )


def _load_configuration(config_file: str | None, state: str | None) -> placement_conf.ConfigOpts:
    """The configuration; with a state directory, with defaults that need nothing else."""

    def register(conf: placement_conf.ConfigOpts) -> None:
        placement_conf.register_opts(conf)
        if state is not None:
            # oslo.config would take a dollar sign for the beginning of an option's name.
            url = _sqlite_url(state).replace('$', '$$')
            conf.set_default('connection', url, 'placement_database')

    arguments = [] if config_file is None else ['--config-file', config_file]
    try:
        # Out of the box, a file that lies in /etc or in a home directory changes nothing.
        conf = placement_conf.load(arguments, register=register, search=state is None)
    except (placement_conf.Error, OSError) as error:
        raise CannotServe(f'the configuration cannot be used: {error}') from error
    # A configuration file means what it would mean to any other server.
    if state is not None and not conf.config_file:
        conf.set_default('auth_strategy', 'noauth2', 'api')
        conf.set_default('sync_on_startup', True, 'placement_database')
        conf.set_default('default_log_levels', [*conf.default_log_levels, 'alembic=WARN'])
        conf.set_default('policy_file', os.path.join(state, 'policy.yaml'), 'oslo_policy')
        conf.set_default('policy_dirs', [], 'oslo_policy')
        conf.set_default('enabled', True, 'ui')
    return conf


def _describe_configuration(conf: placement_conf.ConfigOpts, environ: Mapping[str, str]) -> str:
    """Where values come from: files, and variables of the environment, which win."""
    names = files.variables_read(conf, environ)
    return ', '.join([*files.files_read(conf), *names]) or 'none, defaults for trials'


def _sqlite_url(state: str) -> str:
    return f'sqlite:///{os.path.join(state, "placement.sqlite")}'


def _refuse_other_data(conf: placement_conf.ConfigOpts, state: str) -> None:
    """Refuse a database, or a configuration, that the environment names.

    :raises CannotServe: it is refused
    """
    if conf.config_file or conf.placement_database.connection != _sqlite_url(state):
        raise CannotServe(
            'the environment names a database or a configuration, which this command does not '
            'use; unset OS_PLACEMENT_DATABASE__CONNECTION and OS_PLACEMENT_CONFIG_DIR'
        )


def _refuse_noauth2_beyond_loopback(strategy: str, host: str, port: int) -> None:
    """Refuse noauth2 on an address that is not a loopback address.

    :raises CannotServe: it is refused, or the host has no address
    """
    if strategy != 'noauth2':
        return
    if not all(map(loopback_hosts.is_loopback, web_server.addresses_of(host, port))):
        raise CannotServe(
            f'refusing to serve on {host} with auth_strategy noauth2, which makes anyone who can '
            'connect an administrator; use a loopback address, or configure keystone'
        )


def _listen(host: str, port: int) -> socket.socket:
    """A socket that accepts connections; they wait until the application is ready.

    :raises CannotServe: the address cannot be had
    """
    try:
        return web_server.listen(host, port)
    except CannotListen as error:
        remedy = '; choose another with --port N (make serve PORT=N)' if error.is_taken else ''
        raise CannotServe(f'{error}{remedy}') from error


def _prepare_database(conf: placement_conf.ConfigOpts, state: str | None, say: Say) -> None:
    """Make room for the data, unless a database elsewhere is configured.

    :raises CannotServe: the directory cannot be made, or not be written to
    """
    if state is None or conf.placement_database.connection != _sqlite_url(state):
        say('database: the one that is configured')
        return
    file = os.path.join(state, 'placement.sqlite')
    try:
        os.makedirs(state, mode=0o700, exist_ok=True)
        known = os.path.exists(file)
        # What is in the database is for nobody else; SQLite gives its other files the same mode.
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        os.chmod(file, 0o600)
        with open(file, 'rb') as opened:
            magic = opened.read(len(SQLITE_MAGIC))
    except OSError as error:
        raise CannotServe(f'cannot keep data in {state}: {web_server.words_of(error)}') from error
    if magic not in (b'', SQLITE_MAGIC):
        raise CannotServe(f'{file} is not an SQLite database; move it away to begin anew')
    say(f'database: {file} ({"kept from before" if known else "new"})')


def _load_application(conf: placement_conf.ConfigOpts, say: Say) -> WSGIApplication:
    """The application, its database ready.

    :raises CannotServe: the database cannot be used
    """
    if conf.placement_database.sync_on_startup:
        say('schema: bringing it up to date')
    try:
        application = deploy.loadapp(conf)
    except Exception as error:
        LOG.debug('The application cannot be loaded.', exc_info=True)
        raise CannotServe(f'cannot load the application: {web_server.words_of(error)}') from error
    say('traits and resource classes: up to date')
    return loopback_hosts.only_known_hosts(application, conf)


if __name__ == '__main__':
    sys.exit(main())
