# SPDX-License-Identifier: Apache-2.0
"""`placement-serve` and `placement-api`: the service in a process of its own, for trials.

``placement-serve`` runs out of the box. Without a configuration file it stores its data in a
directory, migrates the database, and does not authenticate callers (noauth2). It does not search
for configuration files.
``placement-api`` runs the configured service.
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
from placement import deploy, extension
from placement.cmd import web_server
from placement.cmd.web_server import CannotListen, CannotServe
from placement.conf import files
from placement.middleware import loopback_hosts
from placement.wsgi.log_setup import start_logging

LOG = logging.getLogger(__name__)

DEFAULT_PORT = 8778
SQLITE_MAGIC = b'SQLite format 3\0'
# One thread waits for the database while another works; many slow each other down.
DEFAULT_THREADS = 4
_DESCRIPTION = (__doc__ or '').split('\n\n')[-1]

# Prints a line that begins with the name of the command.
Say = Callable[[str], None]


def _say_where(say: Say, url: str, strategy: str) -> None:
    """Print the URL of the service, and two commands that use it."""
    token = 'admin' if strategy == 'noauth2' else '$OS_TOKEN'
    say(f'serving on {url}, stop with Ctrl-C; try')
    print(f'    curl {url}/')
    print(
        f'    curl -H "X-Auth-Token: {token}" -H "OpenStack-API-Version: placement latest" '
        f'{url}/resource_providers',
        flush=True,
    )


def _nothing(*_arguments: object) -> None:
    """Do nothing: the default of the hooks of a `Program`."""


def _sqlite_url(state: str) -> str:
    return f'sqlite:///{os.path.join(state, "placement.sqlite")}'


def _load_configuration(config_file: str | None, state: str | None) -> placement_conf.ConfigOpts:
    """Load the configuration; with a state directory, the defaults suffice without a file.

    :raises CannotServe: the configuration is invalid or cannot be read
    """

    def register(conf: placement_conf.ConfigOpts) -> None:
        placement_conf.register_opts(conf)
        if state is not None:
            # To oslo.config, a dollar sign in the path would begin the name of an option.
            url = _sqlite_url(state).replace('$', '$$')
            conf.set_default('connection', url, 'placement_database')

    arguments = [] if config_file is None else ['--config-file', config_file]
    try:
        # Out of the box, files in /etc or in a home directory are not read.
        conf = placement_conf.load(arguments, register=register, search=state is None)
    except (placement_conf.Error, OSError) as error:
        raise CannotServe(f'the configuration cannot be used: {error}') from error
    if state is None:
        return conf
    # No other command migrates the database in the state directory.
    if not conf.config_file or conf.placement_database.connection == _sqlite_url(state):
        conf.set_default('sync_on_startup', True, 'placement_database')
        conf.set_default('default_log_levels', [*conf.default_log_levels, 'alembic=WARN'])
    # With a configuration file, other options have the same defaults as in any other server.
    if not conf.config_file:
        conf.set_default('auth_strategy', 'noauth2', 'api')
        conf.set_default('policy_file', os.path.join(state, 'policy.yaml'), 'oslo_policy')
        conf.set_default('policy_dirs', [], 'oslo_policy')
        for group, name in _trial_options():
            conf.set_default(name, True, group)
    return conf


def _trial_options() -> list[tuple[str, str]]:
    """List the options, by group and name, that extensions want enabled in trials."""
    return [place for each in extension.list_installed() for place in each.trial_options]


def _load_application(conf: placement_conf.ConfigOpts, say: Say) -> WSGIApplication:
    """Load the application, which makes its database ready.

    :raises CannotServe: the application cannot be loaded
    """
    if conf.placement_database.sync_on_startup:
        say('schema: bringing it up to date')
    try:
        application = deploy.load_for_web_server(conf)
    except Exception as error:
        LOG.debug('The application cannot be loaded.', exc_info=True)
        raise CannotServe(f'cannot load the application: {web_server.words_of(error)}') from error
    say('traits and resource classes: up to date')
    return application


@dataclasses.dataclass(frozen=True, slots=True)
class Program:
    """A command that runs the service, with hooks between the steps of the start.

    The hooks may raise `CannotServe`.
    """

    name: str
    description: str
    # Default of the option --state-dir; None for a command that only runs as configured.
    state_dir: str | None = 'state'
    # The command has the option --config-file.
    is_configurable: bool = True
    port: int = DEFAULT_PORT
    # Takes the configuration file, if any, and the state directory.
    configure: Callable[[str | None, str | None], placement_conf.ConfigOpts] = _load_configuration
    load: Callable[[placement_conf.ConfigOpts, Say], WSGIApplication] = _load_application
    # Takes the state directory; removes data of former runs before the database is opened.
    discard: Callable[[str], None] = _nothing
    # Fills the database before the application is loaded.
    fill: Callable[[placement_conf.ConfigOpts, Say], None] = _nothing
    # Takes the URL and the strategy of authentication, when the service answers.
    say_where: Callable[[Say, str, str], None] = _say_where


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the service out of the box until a signal arrives; return the exit status."""
    return run(Program('placement-serve', _DESCRIPTION), arguments)


def api(arguments: Sequence[str] | None = None) -> int:
    """Run the configured service until a signal arrives; return the exit status."""
    return run(Program('placement-api', _DESCRIPTION, state_dir=None), arguments)


def run(program: Program, arguments: Sequence[str] | None) -> int:
    """Run the service of a program until a signal arrives; return the exit status."""
    options = parser(program).parse_args(arguments)
    say = functools.partial(print, f'{program.name}:', flush=True)
    work = functools.partial(_serve, program, options, say)
    return web_server.run_until_signal(program.name, work)


def parser(program: Program) -> argparse.ArgumentParser:
    """Return the parser of the options of a program."""
    parser = argparse.ArgumentParser(prog=program.name, description=program.description)
    parser.add_argument('--host', default='127.0.0.1', help='address to serve on (%(default)s)')
    parser.add_argument(
        '--port',
        type=int,
        default=program.port,
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
    """Start the service step by step, and serve.

    :raises CannotServe: a step has failed
    """
    state = None if program.state_dir is None else os.path.abspath(options.state_dir)
    file = options.config_file if program.is_configurable else None
    conf = program.configure(file, state)
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
        application = program.load(conf, say)
        strategy = conf.api.auth_strategy
        words = ': callers are not authenticated, and only this machine can connect'
        say(f'authentication: {strategy}{words if strategy == "noauth2" else ""}')
        url = web_server.url_of(listening)
        for each in extension.list_enabled(conf):
            if (path := each.page(conf)) is not None:
                say(f'page: {url}{path}')
        web_server.serve(
            application,
            listening,
            options.threads,
            lambda: program.say_where(say, url, strategy),
            conf.placement.max_request_body_size,
        )


def _describe_configuration(conf: placement_conf.ConfigOpts, environ: Mapping[str, str]) -> str:
    """List the sources of options: files, then environment variables, which take precedence."""
    names = files.variables_read(conf, environ)
    return ', '.join([*files.files_read(conf), *names]) or 'none, defaults for trials'


def _refuse_other_data(conf: placement_conf.ConfigOpts, state: str) -> None:
    """Check that the environment names no other database or configuration.

    :raises CannotServe: the environment names one
    """
    if conf.config_file or conf.placement_database.connection != _sqlite_url(state):
        raise CannotServe(
            'the environment names a database or a configuration, which this command does not '
            'use; unset OS_PLACEMENT_DATABASE__CONNECTION and OS_PLACEMENT_CONFIG_DIR'
        )


def _refuse_noauth2_beyond_loopback(strategy: str, host: str, port: int) -> None:
    """Check that noauth2 is used on loopback addresses only.

    :raises CannotServe: an address of the host is no loopback address, or it has none
    """
    if strategy != 'noauth2':
        return
    if not all(map(loopback_hosts.is_loopback, web_server.addresses_of(host, port))):
        raise CannotServe(
            f'refusing to serve on {host} with auth_strategy noauth2, which makes anyone who can '
            'connect an administrator; use a loopback address, or configure keystone'
        )


def _listen(host: str, port: int) -> socket.socket:
    """Open a socket; its connections wait until the application is ready.

    :raises CannotServe: the address cannot be used
    """
    try:
        return web_server.listen(host, port)
    except CannotListen as error:
        remedy = '; choose another with --port N (make serve PORT=N)' if error.is_taken else ''
        raise CannotServe(f'{error}{remedy}') from error


def _prepare_database(conf: placement_conf.ConfigOpts, state: str | None, say: Say) -> None:
    """Create the state directory and the file of the database, unless another one is configured.

    :raises CannotServe: the directory cannot be created or written
    """
    if state is None or conf.placement_database.connection != _sqlite_url(state):
        say('database: the one that is configured')
        return
    file = os.path.join(state, 'placement.sqlite')
    try:
        os.makedirs(state, mode=0o700, exist_ok=True)
        known = os.path.exists(file)
        # Only this user may read the data. SQLite creates its other files with the same mode.
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        os.chmod(file, 0o600)
        with open(file, 'rb') as opened:
            magic = opened.read(len(SQLITE_MAGIC))
    except OSError as error:
        raise CannotServe(f'cannot keep data in {state}: {web_server.words_of(error)}') from error
    if magic not in (b'', SQLITE_MAGIC):
        raise CannotServe(f'{file} is not an SQLite database; move it away to begin anew')
    say(f'database: {file} ({"kept from before" if known else "new"})')


if __name__ == '__main__':
    sys.exit(main())
