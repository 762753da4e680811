# SPDX-License-Identifier: Apache-2.0
"""`placement-insight-serve`: insight on the database of another service, for trials.

It reads the database of OS_PLACEMENT_DATABASE__CONNECTION or of a configuration file, and writes
nothing: its account needs no right but SELECT. Without a configuration file callers are not
authenticated (noauth2). It reads no file but those named on the command line.
"""

import os
import sys
from collections.abc import Sequence
from wsgiref.types import WSGIApplication

from placement import conf as placement_conf
from placement.cmd import serve, web_server
from placement.cmd.web_server import CannotServe
from placement.conf import ConfigOpts
from placement_insight.beside import application

NAME = 'placement-insight-serve'
PORT = 8780


def main(arguments: Sequence[str] | None = None) -> int:
    """Run insight until a signal stops it, and return the exit status."""
    program = serve.Program(
        NAME,
        (__doc__ or '').partition('\n\n')[2],
        state_dir=None,
        port=PORT,
        configure=_configure,
        load=_load,
        say_where=_say_where,
    )
    return serve.run(program, arguments)


def _configure(config_file: str | None, _state: str | None) -> ConfigOpts:
    """Return the configuration; without a file, its defaults need nothing but a database.

    :raises CannotServe: the configuration is unusable, or names no database
    """
    arguments = [] if config_file is None else ['--config-file', config_file]
    try:
        conf = placement_conf.load(arguments, search=False)
    except placement_conf.RequiredOptError as error:
        raise CannotServe(
            'no database is named: set OS_PLACEMENT_DATABASE__CONNECTION, or connection in '
            '[placement_database] of a file for --config-file'
        ) from error
    except (placement_conf.Error, OSError) as error:
        raise CannotServe(f'the configuration cannot be used: {error}') from error
    if not conf.config_file:
        conf.set_default('auth_strategy', 'noauth2', 'api')
    directory = os.path.dirname(os.path.abspath(config_file)) if config_file else os.devnull
    application.keep_apart(conf, directory)
    return conf


def _load(conf: ConfigOpts, say: serve.Say) -> WSGIApplication:
    """Return the application, after a check of the database schema.

    :raises CannotServe: the database cannot be used
    """
    try:
        loaded = application.loadapp(conf)
    except Exception as error:
        reason = web_server.words_of(error)
        raise CannotServe(f'cannot read the database: {reason}') from error
    say(f'the cloud is read when somebody asks, at most every {conf.insight.snapshot_max_age} s')
    return loaded


def _say_where(say: serve.Say, url: str, strategy: str) -> None:
    """Print the address, and a command that asks a question."""
    token = 'admin' if strategy == 'noauth2' else '$OS_TOKEN'
    say(f'serving on {url}, stop with Ctrl-C; try')
    print(f'    curl -H "X-Auth-Token: {token}" {url}/insight', flush=True)


if __name__ == '__main__':
    sys.exit(main())
