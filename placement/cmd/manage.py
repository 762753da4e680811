# SPDX-License-Identifier: Apache-2.0
"""`placement-manage`: commands for the database, for operators, and for the OpenAPI document.

Specification: commands, "placement-manage".
"""

import collections
import functools
import json
import logging
import sys
from collections.abc import Sequence
from importlib import metadata
from typing import Any

import prettytable
from oslo_config import cfg
from oslo_log import log

from placement import conf as configuration
from placement import errors, extension
from placement.cmd import operator_command, provider_identity
from placement.cmd.operator_command import add_action, add_group
from placement.conf import files
from placement.db.engine import failures
from placement.db.engine.database import Database
from placement.db.schema import data_migrations, migration, revisions, standard_names
from placement.db.schema.data_migrations import Migration
from placement.doctor import command as doctor
from placement.feed.sink import open_database
from placement.http.microversion import LATEST

LOG = logging.getLogger(__name__)

BATCH_SIZE = 50

# The exit statuses of `online_data_migrations`.
DONE, PERHAPS_MORE, FAILED, WRONG_ARGUMENT = 0, 1, 2, 127


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    conf = operator_command.Options()
    configuration.register_opts(conf)
    # Scripts read standard output, so the log goes to standard error.
    conf.set_default('use_stderr', True)
    conf.register_cli_opt(
        cfg.SubCommandOpt('command', title='Command', help='What to work on', handler=_add_parsers)
    )
    try:
        with files.explained(conf, arguments):
            conf(arguments, project=configuration.PROJECT, version=_version())
    except cfg.Error as error:
        # oslo.config checks for a connection after everything was read; some commands need none.
        is_read = isinstance(error, cfg.RequiredOptError)
        if not is_read or conf.command.name not in (openapi.__name__, doctor.NAME):
            if doctor.NAME in {*arguments}:
                return doctor.refuse_configuration(error)
            print(f'The configuration cannot be used: {error}', file=sys.stderr)
            return 1
    if conf.command.name is None:
        conf.print_help()
        return 1
    # Before the log is set up, which may be the problem.
    if conf.command.name == doctor.NAME:
        return doctor.run(conf)
    return _run(conf)


def _run(conf: cfg.ConfigOpts) -> int:
    """Set up the log and run the action of the command line; return its exit status."""
    try:
        log.setup(conf, configuration.PROJECT)
    except OSError as error:
        print(
            f'The log {error.filename} cannot be opened: {error.strerror}. Run the command as the '
            'user of the service, who has to own the file.',
            file=sys.stderr,
        )
        return 1
    configuration.warn_of_mistakes(conf)
    try:
        with operator_command.in_words():
            return int(conf.command.action(conf))
    except operator_command.UnusableDatabaseError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('Interrupted.', file=sys.stderr)
        return 130


def _version() -> str:
    """Return the version of the installed package."""
    try:
        return metadata.version(configuration.DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return 'unknown'


def _add_parsers(subparsers: Any) -> None:
    """Add the parsers of the commands, each with the function that runs it."""
    # oslo.config requires a command; without one, `main` prints the help.
    subparsers.required = False
    database = add_group(subparsers, 'db', 'The database.')
    words = 'Print the API as an OpenAPI document.'
    add_action(subparsers, openapi.__name__, openapi, words).add_argument(
        '--microversion',
        metavar='1.N',
        default=LATEST,
        help='The microversion to describe; the newest by default.',
    )

    words = 'Say what is wrong with this deployment, and what to do about it.'
    doctor.add_options(add_action(subparsers, doctor.NAME, doctor.run, words))
    provider_identity.add_parser(subparsers)

    words = 'Migrate the schema to the newest revision, and insert the standard names.'
    add_action(database, 'sync', sync, words)
    add_action(database, 'version', version, 'Print the revisions of the schema.')
    words = 'Stamp a revision without running migrations.'
    add_action(database, 'stamp', stamp, words).add_argument(
        'revision', metavar='version', help='The revision, or "head" for the newest.'
    )
    words = 'Run online data migrations.'
    add_action(database, 'online_data_migrations', online_data_migrations, words).add_argument(
        '--max-count', metavar='N', help='Change at most N rows, once.'
    )


def sync(conf: cfg.ConfigOpts) -> int:
    """Run `db sync`: migrate the schema to the newest revisions, and insert standard names."""
    with open_database(conf) as database:
        migration.sync(database.engine)
        standard_names.sync(database)
    return 0


def version(conf: cfg.ConfigOpts) -> int:
    """Run `db version`: print the revision of each chain, None for a chain without tables.

    Standard output has only the revision of the tables of upstream, as for upstream's command.
    """
    present: list[str | None] = [None for _chain in revisions.CHAINS]
    try:
        revisions.require_file(conf.placement_database.connection)
        with open_database(conf) as database:
            present = revisions.versions(database.engine)
        words = revisions.difference(present)
    except revisions.MissingSchemaError as error:
        words = str(error)
    print(present[0])
    # Scripts read standard output as the revision.
    print(f'{present[1]} (tables of this service)', file=sys.stderr)
    if words is not None:
        print(words, file=sys.stderr)
    return 0


def stamp(conf: cfg.ConfigOpts) -> int:
    """Run `db stamp`: record a revision without running migrations."""
    with open_database(conf) as database:
        migration.stamp(database.engine, conf.command.revision)
    return 0


def online_data_migrations(conf: cfg.ConfigOpts) -> int:
    """Run one batch with `--max-count`, otherwise batches until no row is left."""
    max_count = conf.command.max_count
    if max_count is not None and not _is_positive(max_count):
        print('Must supply a positive value for max_count')
        return WRONG_ARGUMENT
    revisions.require_file(conf.placement_database.connection)
    if max_count is None:
        print(f'Running batches of {BATCH_SIZE} until complete')
    with open_database(conf) as database:
        batches = Batches(database, online_migrations(conf))
        migrated = batches.run(BATCH_SIZE if max_count is None else int(max_count))
        while migrated and max_count is None:
            migrated = batches.run(BATCH_SIZE)
    batches.print_table()
    if migrated:
        return PERHAPS_MORE
    if batches.failed:
        print('Some migrations failed unexpectedly. Check log for details.')
        return FAILED
    return DONE


def openapi(conf: cfg.ConfigOpts) -> int:
    """Run `openapi`: print the document of one microversion."""
    # Imported here because it imports the whole API, which no other command needs.
    from placement.cmd.openapi import document
    from placement.routes import surface_of

    try:
        surface = surface_of(extension.list_enabled(conf))
        api = document.version_named(surface, conf.command.microversion)
    except (errors.PlacementError, cfg.Error) as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(document.document(surface, api), indent=2))
    return 0


def _is_positive(text: str) -> bool:
    try:
        return int(text) > 0
    except ValueError:
        return False


def online_migrations(conf: cfg.ConfigOpts) -> dict[str, Migration]:
    """Return the online data migrations by name, in the order in which they run."""
    return {
        'set_root_provider_ids': data_migrations.set_root_provider_ids,
        'create_incomplete_consumers': functools.partial(
            data_migrations.create_incomplete_consumers,
            project=conf.placement.incomplete_consumer_project_id,
            user=conf.placement.incomplete_consumer_user_id,
        ),
    }


class Batches:
    """Runs online data migrations in batches, and counts rows."""

    def __init__(self, database: Database, migrations: dict[str, Migration]) -> None:
        self.failed = False
        self._database = database
        self._migrations = migrations
        # Numbers of rows found and changed in all batches, by name of the migration.
        self._totals: collections.Counter[str] = collections.Counter()

    def run(self, size: int) -> int:
        """Change at most `size` rows; return the number of changed rows.

        The migrations share the size: once it is used up, later ones change nothing.
        """
        remaining = size
        for name, migrate in self._migrations.items():
            count = 0
            try:
                count = data_migrations.run(self._database, migrate, remaining, name)
            except Exception as error:
                # A failure does not stop the others.
                self.failed = True
                reason = failures.unusable_reason(error)
                print(f'Error attempting to run {name}', *filter(None, [reason]), sep=': ')
                if reason is None:
                    LOG.exception('Error attempting to run %s', name)
            if count:
                print(f'{count} rows matched query {name}, {count} migrated')
            self._totals[name] += count
            remaining -= count
            if remaining <= 0:
                break
        return size - remaining

    def print_table(self) -> None:
        """Print the totals of every migration that ran."""
        table = prettytable.PrettyTable(['Migration', 'Total Found', 'Completed'])
        for name, count in self._totals.items():
            table.add_row([name, count, count])
        print(table)


if __name__ == '__main__':
    sys.exit(main())
