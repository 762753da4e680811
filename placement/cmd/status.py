# SPDX-License-Identifier: Apache-2.0
"""`placement-status upgrade check`: checks that this deployment is ready for an upgrade.

Specification: commands, "placement-status". oslo.upgradecheck prints the results and defines the
exit statuses.
"""

import sys
from collections.abc import Callable, Sequence

from oslo_config import cfg
from oslo_upgradecheck import common_checks, upgradecheck

from placement import conf as configuration
from placement import errors
from placement.cmd import operator_command
from placement.conf import files
from placement.db.engine.database import Database
from placement.db.schema import data_migrations, revisions
from placement.doctor.check import CheckResult, Code, failure, ok, warning
from placement.doctor.database import compare_revisions
from placement.feed.sink import open_database

# The exit status of unexpected errors, as in oslo.upgradecheck.
UNEXPECTED = 255

REMEDY = 'Run the "placement-manage db online_data_migrations" command.'


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    conf = operator_command.Options()
    configuration.register_opts(conf)
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        with files.explained(conf, arguments):
            return int(
                upgradecheck.main(
                    conf,
                    project=configuration.PROJECT,
                    upgrade_command=Checks(conf),
                    argv=arguments,
                )
            )
    except cfg.Error as error:
        print(f'The configuration cannot be used: {error}', file=sys.stderr)
        return UNEXPECTED


class Checks(upgradecheck.UpgradeCommands):
    """The checks; the configuration is read when they run."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__()
        self._conf = conf
        self._upgrade_checks = (
            (
                'Schema Revisions',
                (_run, {'check': lambda database: compare_revisions(database.engine)}),
            ),
            ('Missing Root Provider IDs', (_run, {'check': check_root_provider_ids})),
            ('Incomplete Consumers', (_run, {'check': check_incomplete_consumers})),
            (
                'Policy File JSON to YAML Migration',
                (common_checks.check_policy_json, {'conf': conf}),
            ),
        )

    def check(self) -> Code:
        """Run and print all checks; return the worst result."""
        try:
            with operator_command.in_words():
                revisions.require_file(self._conf.placement_database.connection)
                with open_database(self._conf) as self.database:
                    return super().check()
        except operator_command.UnusableDatabaseError as error:
            print(error, file=sys.stderr)
            return Code.FAILURE


def _run(checks: Checks, check: Callable[[Database], CheckResult]) -> CheckResult:
    """Run a check; fail if the database cannot be used, or has no tables."""
    try:
        with operator_command.in_words():
            return check(checks.database)
    except errors.DatabaseNotMigrated as error:
        return failure(str(error), revisions.REMEDY)
    except operator_command.UnusableDatabaseError as error:
        return failure(error.reason, error.remedy)


def check_root_provider_ids(database: Database) -> CheckResult:
    """Fail if a provider lacks a root."""
    if data_migrations.has_missing_root_provider_ids(database):
        return failure(
            'There is at least one resource provider without a root provider id.', REMEDY
        )
    return ok()


def check_incomplete_consumers(database: Database) -> CheckResult:
    """Warn if allocations lack the record of their consumer."""
    count = data_migrations.count_incomplete_consumers(database)
    if count:
        return warning(f'Consumers with allocations but without a record: {count}.', REMEDY)
    return ok()


if __name__ == '__main__':
    sys.exit(main())
