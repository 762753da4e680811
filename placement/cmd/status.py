# SPDX-License-Identifier: Apache-2.0
"""`placement-status upgrade check`: whether this deployment is ready for an upgrade.

Specification: commands, "placement-status". oslo.upgradecheck prints the results and defines the
exit statuses.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence

from oslo_config import cfg
from oslo_upgradecheck import common_checks, upgradecheck

from placement import conf as configuration
from placement import errors
from placement.cmd import unusable_database
from placement.context import RequestContext
from placement.db.engine.database import Database
from placement.db.schema import data_migrations, revisions

REMEDY = 'Run the "placement-manage db online_data_migrations" command.'


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    conf = configuration.CommandOptions()
    configuration.register_opts(conf)
    return int(
        upgradecheck.main(
            conf,
            project=configuration.PROJECT,
            upgrade_command=Checks(conf),
            argv=sys.argv[1:] if arguments is None else list(arguments),
        )
    )


def _needs_database(
    check: Callable[[Checks], upgradecheck.Result],
) -> Callable[[Checks], upgradecheck.Result]:
    """Make a check fail, instead of the command, where tables are missing or the database is."""

    @functools.wraps(check)
    def run(self: Checks) -> upgradecheck.Result:
        try:
            with unusable_database.in_words():
                return check(self)
        except errors.DatabaseNotMigrated as error:
            return upgradecheck.Result(upgradecheck.Code.FAILURE, f'{error} {revisions.REMEDY}')
        except unusable_database.UnusableDatabaseError as error:
            return upgradecheck.Result(upgradecheck.Code.FAILURE, str(error))

    return run


class Checks(upgradecheck.UpgradeCommands):
    """The checks; the configuration is read when they run."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__()
        self._conf = conf
        self._upgrade_checks = (
            ('Schema Revisions', Checks.check_schema),
            ('Missing Root Provider IDs', Checks.check_root_provider_ids),
            ('Incomplete Consumers', Checks.check_incomplete_consumers),
            (
                'Policy File JSON to YAML Migration',
                (common_checks.check_policy_json, {'conf': conf}),
            ),
        )

    def check(self) -> upgradecheck.Code:
        """Run and print all checks; return the worst result."""
        try:
            with unusable_database.in_words():
                database = Database.from_conf(self._conf)
        except unusable_database.UnusableDatabaseError as error:
            print(error, file=sys.stderr)
            return upgradecheck.Code.FAILURE
        self._context = RequestContext(database=database)
        try:
            return super().check()
        finally:
            database.dispose()

    @_needs_database
    def check_schema(self) -> upgradecheck.Result:
        """Fail if the schema is not that of this release."""
        engine = self._context.database.engine
        found = [revisions.version(engine, chain) for chain in revisions.CHAINS]
        words = revisions.difference(found)
        if words is not None:
            return upgradecheck.Result(upgradecheck.Code.FAILURE, words)
        return upgradecheck.Result(upgradecheck.Code.SUCCESS)

    @_needs_database
    def check_root_provider_ids(self) -> upgradecheck.Result:
        """Fail if a provider lacks a root."""
        if data_migrations.has_missing_root_provider_ids(self._context):
            return upgradecheck.Result(
                upgradecheck.Code.FAILURE,
                f'There is at least one resource provider without a root provider id. {REMEDY}',
            )
        return upgradecheck.Result(upgradecheck.Code.SUCCESS)

    @_needs_database
    def check_incomplete_consumers(self) -> upgradecheck.Result:
        """Warn if allocations lack the record of their consumer."""
        count = data_migrations.count_incomplete_consumers(self._context)
        if count:
            return upgradecheck.Result(
                upgradecheck.Code.WARNING,
                f'Consumers with allocations but without a record: {count}. {REMEDY}',
            )
        return upgradecheck.Result(upgradecheck.Code.SUCCESS)


if __name__ == '__main__':
    sys.exit(main())
