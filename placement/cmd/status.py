# SPDX-License-Identifier: Apache-2.0
"""`placement-status`: is this deployment ready for an upgrade?

Specification: commands, "placement-status". Tables, JSON and exit statuses are
oslo.upgradecheck's.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from oslo_config import cfg
from oslo_upgradecheck import common_checks, upgradecheck

from placement import conf as configuration
from placement.context import RequestContext
from placement.db.engine.database import Database
from placement.db.schema import data_migrations

REMEDY = 'Run the "placement-manage db online_data_migrations" command.'


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; the exit status."""
    conf = cfg.ConfigOpts()
    configuration.register_opts(conf)
    return int(
        upgradecheck.main(
            conf,
            project=configuration.PROJECT,
            upgrade_command=Checks(conf),
            argv=sys.argv[1:] if arguments is None else list(arguments),
        )
    )


class Checks(upgradecheck.UpgradeCommands):
    """What `upgrade check` looks at; the configuration is read when it does."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__()
        self._conf = conf
        self._upgrade_checks = (
            ('Missing Root Provider IDs', Checks.check_root_provider_ids),
            ('Incomplete Consumers', Checks.check_incomplete_consumers),
            (
                'Policy File JSON to YAML Migration',
                (common_checks.check_policy_json, {'conf': conf}),
            ),
        )

    def check(self) -> upgradecheck.Code:
        """The worst outcome of all checks, which are printed."""
        database = Database.from_conf(self._conf)
        self._context = RequestContext(database=database)
        try:
            return super().check()
        finally:
            database.dispose()

    def check_root_provider_ids(self) -> upgradecheck.Result:
        """A failure when a provider has no root."""
        if data_migrations.has_missing_root_provider_ids(self._context):
            return upgradecheck.Result(
                upgradecheck.Code.FAILURE,
                f'There is at least one resource provider without a root provider id. {REMEDY}',
            )
        return upgradecheck.Result(upgradecheck.Code.SUCCESS)

    def check_incomplete_consumers(self) -> upgradecheck.Result:
        """A warning when allocations lack the record of their consumer."""
        count = data_migrations.count_incomplete_consumers(self._context)
        if count:
            return upgradecheck.Result(
                upgradecheck.Code.WARNING,
                f'Consumers with allocations but without a record: {count}. {REMEDY}',
            )
        return upgradecheck.Result(upgradecheck.Code.SUCCESS)


if __name__ == '__main__':
    sys.exit(main())
